# copyfit serve, without PyTorch. The model is not in the image: mount the folder that copyfit export wrote.
#   docker build --tag copyfit . && docker run --publish 8000:8000 --volume /path/to/model:/model:ro copyfit
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir --prefix=/installed '.[serve]'

FROM python:3.12-slim
COPY --from=build /installed /usr/local
RUN useradd --no-create-home --uid 10001 copyfit
USER 10001
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --start-period=20s CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/ready', timeout=3)"]
ENTRYPOINT ["copyfit", "serve", "--host", "0.0.0.0"]
CMD ["--model", "/model"]
