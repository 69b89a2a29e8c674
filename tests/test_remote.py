"""`copyfit write --server` writes what the service writes, and says what is wrong in one line."""

import json
import runpy
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

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


class Busy(BaseHTTPRequestHandler):
    """Be a service that is busy twice, and then one that does not speak copyfit."""

    asked = 0

    def do_GET(self) -> None:
        content = json.dumps({"models": [{"name": "m", "unit": "char", "natural_length": 9}]}).encode()
        self.answer(200, content)

    def do_POST(self) -> None:
        type(self).asked += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(429 if self.asked < 3 else 500, b"[]" if self.asked < 3 else b"oops")

    def answer(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def test_the_client_of_the_documentation_works(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[1] / "docs" / "serving.md").read_text(encoding="utf-8")
    code = page.partition("```python\n")[2].partition("```")[0].replace("http://127.0.0.1:8000", served.url)
    (tmp_path / "client.py").write_text(code, encoding="utf-8")
    runpy.run_path(str(tmp_path / "client.py"), {"article": ARTICLE})
    assert [line.split(" ")[:2] for line in capsys.readouterr().out.splitlines()] == [["30", "True"]] * 3


def test_a_busy_service_is_asked_again_and_nonsense_is_told() -> None:
    with HTTPServer(("127.0.0.1", 0), Busy) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            writer = RemoteWriter(f"http://127.0.0.1:{server.server_port}/")
            with pytest.raises(RequestError, match=r"refuses \(500\): nothing that copyfit says"):
                writer.fulfil([Order("a", Wish(9))], Effort())
            assert Busy.asked == 3
        finally:
            server.shutdown()
            thread.join()
    with pytest.raises(RequestError, match="cannot ask the server at http"):
        RemoteWriter(f"http://127.0.0.1:{server.server_port}/")
    with pytest.raises(RequestError, match="a server is named as"):
        RemoteWriter("localhost:8000")


def test_a_wish_that_no_writer_takes_or_only_one_here_fails_alone(served: Served) -> None:
    orders = [Order(ARTICLE, Wish(length)) for length in (0, 9, 600)]
    bad, good, long = RemoteWriter(served.url).fulfil(orders, Effort(num_beams=1))
    assert "length must be from 1" in str(bad.error)
    assert good.headlines[0].length == 9
    assert "less than or equal to 500" in str(long.error)
