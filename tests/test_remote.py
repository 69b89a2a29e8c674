"""`copyfit write --server` writes what the service writes, and says what is wrong in one line."""

import json
import runpy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, cast

import pytest

from copyfit.cli.app import run
from copyfit.errors import RequestError
from copyfit.remote import RemoteWriter
from copyfit.writing.requests import Wish
from copyfit.writing.writer import Effort, Order, Writer
from support_serving import Served, Slow, serving
from support_writing import ARTICLE, TEXTS, save_tiny

KEY = "a-key-of-some-length"
ROWS = "text\tlength\n" + "".join(
    f"{text}\t{length}\n" for text, length in zip(TEXTS, range(9, 17), strict=True)
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny(tmp_path_factory.mktemp("models") / "tiny"))


@pytest.fixture(scope="module")
def served(model: str) -> Iterator[Served]:
    with serving(Writer(model, device="cpu")) as served:
        yield served


@pytest.mark.parametrize(
    "flags",
    [
        [ARTICLE, "--length", "9"],
        [ARTICLE, "--length", "9", "--length", "12", "--candidates", "3", "--show-count"],
        [ARTICLE, "--max", "20", "--unit", "byte"],
        [ARTICLE, "--for", "chat-title"],
        [ARTICLE, "--length", "30", "--require", "park"],
        [ARTICLE],
        ["", "--length", "9"],
        [ARTICLE, "--length", "3", "--require", "harbour"],
    ],
    ids=lambda flags: " ".join(flags[1:]) or "natural",
)
def test_a_server_writes_the_same_lines(
    served: Served, model: str, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    codes = [
        run(["write", *flags, "--num-beams", "2", *place])
        for place in (["--model", model], ["--server", served.url])
    ]
    assert codes[0] == codes[1]
    out = capsys.readouterr().out.splitlines()
    assert out[: len(out) // 2] == out[len(out) // 2 :]


def test_a_server_writes_the_same_json_and_the_same_files(
    served: Served, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.tsv"
    rows.write_text(ROWS + "\t9\n", encoding="utf-8")
    for place, name in ((["--model", model], "local.tsv"), (["--server", served.url], "remote.tsv")):
        flags = ["--num-beams", "1", *place]
        assert run(["write", ARTICLE, "--length", "9", "--json", *flags]) == 0
        assert run(["write", "--input", str(rows), "--output", str(tmp_path / name), *flags]) == 2
    here, there = map(json.loads, capsys.readouterr().out.splitlines())
    for values in (here, there):
        values["headlines"][0]["score"] = round(values["headlines"][0]["score"], 3)
    assert here == there
    local, remote = ((tmp_path / name).read_text().splitlines() for name in ("local.tsv", "remote.tsv"))
    assert local == remote
    assert "the text must not be empty" in remote[-1]


def test_many_long_texts_go_in_requests_that_the_service_takes(served: Served) -> None:
    writer = RemoteWriter(served.url)
    texts = [f"{number} é" * 9_000 for number in range(40)] + ["a park"] * 40
    orders = [Order(text, Wish(6, require=["a"])) for text in texts]
    results = writer.fulfil(orders, Effort(num_beams=1))
    assert [result.error for result in results] == [None] * 80
    assert {result.headlines[0].length for result in results} == {6}


def test_a_key_is_sent_and_missed(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "key"
    path.write_text(f"{KEY}\n")
    slow = Slow()
    slow.open()
    with serving(slow, keys=[KEY]) as served:
        flags = ["write", "a", "--length", "5", "--server", served.url]
        assert run([*flags, "--key-file", str(path)]) == 0
        assert run(flags) == 2
        assert run([*flags, "--key-file", str(tmp_path / "none")]) == 2
        assert run([*flags, "--model", model]) == 2
        assert run([*flags, "--key-file", str(path), "--rerank"]) == 2
    assert run(["write", "a", "--length", "5", "--model", model, "--key-file", str(path)]) == 2
    output = capsys.readouterr()
    assert output.out == "xxxxx\n"
    messages = (
        "refuses (401): a key must be given",
        "must be a readable text file with a key",
        "leave out --model",
        "neither re-ranks",
        "--key-file goes with",
    )
    for line, message in zip(output.err.splitlines(), messages, strict=True):
        assert line.startswith("copyfit: error: ")
        assert message in line


def test_the_client_of_the_documentation_works(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[1] / "docs" / "serving.md").read_text(encoding="utf-8")
    code = page.partition("```python\n")[2].partition("```")[0].replace("http://127.0.0.1:8000", served.url)
    (tmp_path / "client.py").write_text(code, encoding="utf-8")
    runpy.run_path(str(tmp_path / "client.py"), {"article": ARTICLE})
    assert [line.split(" ")[:2] for line in capsys.readouterr().out.splitlines()] == [["30", "True"]] * 3


MODELS = {"models": [{"name": "m", "unit": "char", "natural_length": 9}]}
LINE = {"text": "x", "length": 1, "fits": True, "whole_words": True, "score": -1.0, "aim": 1}
RESULT = {"headlines": [LINE], "truncated": False, "error": None}


class Reply(NamedTuple):
    """Be what some server answers."""

    status: int
    content: object
    headers: Mapping[str, str] = {}


class Answering(BaseHTTPRequestHandler):
    """Be any server, and keep what it is asked."""

    server: "Elsewhere"

    def do_GET(self) -> None:
        self.reply(b"")

    def do_POST(self) -> None:
        self.reply(self.rfile.read(int(self.headers["Content-Length"])))

    def reply(self, body: bytes) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"], body))
        status, content, headers = self.server.answer(json.loads(body) if body else None)
        written = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(written))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(written)

    def log_message(self, *_: object) -> None:
        pass


class Elsewhere(HTTPServer):
    """Answer as a test says: to a question, or to None where the models are asked for."""

    def __init__(self, answer: Callable[[Any], Reply]) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.answer = answer
        self.asked: list[tuple[str, str | None, bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def elsewhere(answer: Callable[[Any], Reply]) -> Iterator[Elsewhere]:
    with Elsewhere(answer) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_a_busy_service_is_asked_again_and_nonsense_is_told() -> None:
    busy = [Reply(429, b"[]", {"Retry-After": "0"})] * 2
    replies = iter([Reply(200, MODELS), *busy, Reply(500, b"oops")])
    with elsewhere(lambda _: next(replies)) as server:
        writer = RemoteWriter(f"{server.url}/")
        with pytest.raises(RequestError, match=r"refuses \(500\): nothing that copyfit says"):
            writer.fulfil([Order("a", Wish(9))], Effort())
        assert len(server.asked) == 4
    with pytest.raises(RequestError, match="cannot ask the server at http"):
        RemoteWriter(server.url)
    with pytest.raises(RequestError, match="a server is named as"):
        RemoteWriter("localhost:8000")


@pytest.mark.parametrize(
    "content",
    [
        b"<html>Accept our terms</html>",
        b"[" * 100_000,
        [],
        {},
        {"models": []},
        {"models": "m"},
        {"models": {"name": "m"}},
        {"models": ["m"]},
        {"models": [{"name": "m"}]},
        {"models": [{"name": "m", "unit": "char", "natural_length": "many"}]},
    ],
    ids=lambda content: str(content)[:40],
)
def test_a_server_that_is_not_the_service_is_told_in_one_line(content: object) -> None:
    with elsewhere(lambda _: Reply(200, content)) as server:
        with pytest.raises(RequestError, match="must be a server that copyfit serve runs") as told:
            RemoteWriter(server.url)
        assert "\n" not in str(told.value)
        assert server.url in str(told.value)


@pytest.mark.parametrize(
    "content",
    [
        b"<html>Accept our terms</html>",
        {"results": None},
        {"results": []},
        {"results": [RESULT, RESULT]},
        {"results": ["x"]},
        {"results": [{"headlines": [], "truncated": False}]},
        {"results": [{**RESULT, "headlines": [{"text": "x"}]}]},
        {"results": [{**RESULT, "headlines": [{**LINE, "text": 5}]}]},
    ],
    ids=lambda content: str(content)[:60],
)
def test_headlines_that_are_not_in_the_form_of_the_service_are_told_in_one_line(content: object) -> None:
    with elsewhere(lambda question: Reply(200, content if question else MODELS)) as server:
        writer = RemoteWriter(server.url)
        with pytest.raises(RequestError, match="must be a server that copyfit serve runs"):
            writer.fulfil([Order("a", Wish(9))], Effort())


def test_rows_that_take_too_long_together_are_asked_for_by_halves_and_one_alone_fails_alone() -> None:
    def answer(question: Any) -> Reply:
        if question is None:
            return Reply(200, MODELS)
        texts = question["texts"]
        if len(texts) > 2 or "slow" in texts:
            return Reply(504, {"error": {"message": "a request may take 1 s"}})
        return Reply(200, {"results": [{**RESULT, "headlines": [{**LINE, "text": text}]} for text in texts]})

    texts = ["a", "b", "c", "slow", "d", "e", "f"]
    with elsewhere(answer) as server:
        results = RemoteWriter(server.url).fulfil([Order(text, Wish(1)) for text in texts], Effort())
    for text, result in zip(texts, results, strict=True):
        if text == "slow":
            assert str(result.error).endswith("refuses (504): a request may take 1 s")
        else:
            assert (result.error, result.headlines[0].text) == (None, text)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_key_does_not_follow_a_redirect(status: int) -> None:
    with (
        elsewhere(lambda _: Reply(200, MODELS)) as other,
        elsewhere(lambda _: Reply(status, b"", {"Location": f"{other.url}/v1/models"})) as server,
    ):
        with pytest.raises(RequestError, match=f"redirects to '{other.url}/v1/models'"):
            RemoteWriter(server.url, key=KEY)
        assert server.asked == [("/v1/models", f"Bearer {KEY}", b"")]
        assert other.asked == []


def test_a_row_whose_text_or_wish_is_of_another_kind_fails_alone_as_it_does_here(
    served: Served, model: str
) -> None:
    bad: Any = [5, None, b"bytes", ["a", "list"]]
    orders = [Order(text, Wish(9)) for text in (*bad, ARTICLE)]
    orders += [Order(ARTICLE, Wish(9, require=cast("Any", 5)))]
    writers = (Writer(model, device="cpu"), RemoteWriter(served.url))
    here, there = (writer.fulfil(orders, Effort(num_beams=1)) for writer in writers)
    assert [result.error for result in there] == [result.error for result in here]
    assert [result.request for result in there] == [result.request for result in here]
    assert [result.error is None for result in there] == [False] * 4 + [True, False]


def test_a_wish_that_no_writer_takes_or_only_one_here_fails_alone(served: Served) -> None:
    orders = [Order(ARTICLE, Wish(length)) for length in (0, 9, 600)]
    bad, good, long = RemoteWriter(served.url).fulfil(orders, Effort(num_beams=1))
    assert "length must be from 1" in str(bad.error)
    assert good.headlines[0].length == 9
    assert "less than or equal to 500" in str(long.error)
