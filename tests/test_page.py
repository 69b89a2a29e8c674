"""The page in a real browser, driven by what a person does; and without a service, compared with Python."""

import json
import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from jaxtyping import config

from copyfit.checkpoint import Checkpoint
from copyfit.cli.app import run
from copyfit.errors import CheckpointError
from copyfit.remote import RemoteWriter
from copyfit.runtime.exporting import export, trace_checkpoint
from copyfit.server.offline import PAGE, tables_of
from copyfit.text.automaton import FIRST_PIECE, FORBIDDEN
from copyfit.text.normal import normalise
from copyfit.text.units import UNITS, count
from copyfit.text.words import ends_whole
from copyfit.writing.requests import Wish
from copyfit.writing.writer import Effort, Order, Writer
from support_serving import serving
from support_writing import ARTICLE, TEXTS, save_tiny, tiny_checkpoint

pytestmark = pytest.mark.long
HERE = Path(__file__).parent / "page"
RUNTIME = HERE / "node_modules" / "onnxruntime-web" / "dist"
KEY = "a-key-of-some-length"
STRINGS = 10_000
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_node = pytest.mark.skipif(not RUNTIME.is_dir(), reason="needs node and npm; see make setup")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="needs chromium")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("models")
    save_tiny(folder / "weights")
    # Shapes are left unchecked: the checks look at sizes, which a trace must take for any.
    config.update("jaxtyping_disable", True)
    export(trace_checkpoint(folder / "weights"), folder / "graphs", precision="fp32")
    yield folder / "graphs"
    config.update("jaxtyping_disable", False)


def node(script: str, **place: object) -> None:
    given = {name: str(value) for name, value in {"CHROMIUM": BROWSER, **place}.items()}
    told = subprocess.run(
        ["node", "--test", "--test-timeout=120000", str(HERE / script)],
        env={**os.environ, **given},
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stdout


@needs_node
@needs_browser
def test_a_person_writes_headlines_on_the_page(tmp_path: Path) -> None:
    writer = Writer(save_tiny(tmp_path / "tiny"), device="cpu")
    with serving(writer) as served, serving(writer, keys=[KEY]) as keyed:
        node("page.test.js", URL=served.url, KEYED=keyed.url, KEY=KEY, STORY=ARTICLE)


@needs_node
@needs_browser
def test_the_page_without_a_service_writes_what_python_writes(exported: Path, tmp_path: Path) -> None:
    assert run(["page", str(tmp_path / "site"), "--model", str(exported), "--runtime", str(RUNTIME)]) == 0
    writer = Writer(exported)
    wishes: list[dict[str, Any]] = [
        {"lengths": [30, 12, 1], "mode": "exact"},
        {"lengths": [40], "mode": "max"},
        {"preset": "chat-title"},
        {"preset": "jamul-13"},
    ]
    for wish in wishes:
        wish["expected"] = [outcome(writer, asked) for asked in options(wish)]
    (tmp_path / "expected.json").write_text(
        json.dumps({"story": ARTICLE, "wishes": wishes}), encoding="utf-8"
    )
    with files(tmp_path / "site") as url:
        node("offline.test.js", URL=url, EXPECTED=tmp_path / "expected.json")


def test_an_exported_model_is_served_without_pytorch(exported: Path) -> None:
    program = "import sys; sys.modules['torch'] = None; from copyfit.__main__ import main; main()"
    command = [sys.executable, "-c", program, "serve", "--model", str(exported), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        url = json.loads(process.stderr.readline())["url"]
        (result,) = RemoteWriter(url).fulfil([Order(ARTICLE, Wish(24))], Effort())
        process.terminate()
    assert result.headlines[0].text == Writer(exported)(ARTICLE, length=24)
    assert process.returncode == 0


def options(wish: dict[str, Any]) -> list[dict[str, Any]]:
    if "preset" in wish:
        return [{"preset": wish["preset"]}]
    return [{"length": length, "mode": wish["mode"]} for length in wish["lengths"]]


def outcome(writer: Writer, asked: dict[str, Any]) -> dict[str, Any]:
    lines = [line.text for line in writer.candidates(ARTICLE, count=3, **asked)]
    # One headline alone leaves nothing to choose.
    return {"headlines": lines if len(lines) > 1 else [], "counts": [count(lines[0], unit) for unit in UNITS]}


@contextmanager
def files(folder: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@needs_node
@pytest.mark.parametrize("kind", ["character", "subword"])
def test_the_page_reads_counts_and_knows_words_as_python_does(kind: str, tmp_path: Path) -> None:
    checkpoint = tiny_checkpoint(kind)
    draw = random.Random(1)
    texts = [any_text(draw) for _ in range(STRINGS)]
    written = [walk(checkpoint, draw) for _ in range(STRINGS // 10)]
    ends = [(normalise(any_text(draw)), normalise(any_text(draw))) for _ in range(STRINGS // 10)]
    ends += [(text[:cut], text) for text in map(normalise, TEXTS) for cut in range(len(text))]
    cases = {"texts": texts, "written": written, "ends": ends}
    (tmp_path / "tables.json").write_text(json.dumps(tables_of(checkpoint)), encoding="utf-8")
    (tmp_path / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    command = [
        "node",
        str(HERE / "tables.js"),
        str(PAGE),
        str(tmp_path / "tables.json"),
        str(tmp_path / "cases.json"),
    ]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    differing = [
        (text, ids, expected)
        for text, ids in zip(texts, found["ids"], strict=True)
        if ids != (expected := checkpoint.source.encode(normalise(text)))
    ]
    assert differing == []
    for pieces, told in zip(written, found["counts"], strict=True):
        text = checkpoint.target.decode(piece + FIRST_PIECE for piece in pieces)
        assert told == {"text": text, "counts": {unit: count(text, unit) for unit in UNITS}}
    for (text, source), told in zip(ends, found["ends"], strict=True):
        assert told == ends_whole(text, source, checkpoint.words), (text, source)


ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz",
    "ABCxyz'’-‐_.,;:!?()«»“”…/&%$€^{}|~0123456789²½Ⅷ",
    " \t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u1680\u2003\u2028\u3000\ufeff",
    "àéîõüßẞſŒıİǅ\u0301\u0308\u0327ﬁ",
    "жщЪЯґѣ אבגדה عربي\u064b\u200f\u202e हिन्दी ไทยลาว ქართული",
    "東京大雨電車学校々〇ひらがなカタカナーｶﾅ한국어새공원ㄅㄆ",
    "🚢👩‍👩‍👧🏴\U000e0067\U000e007f🇫🇷☕️1️⃣\u200d\u200b\x00\x7f\ue000\uffff\U0001d400\U00020000",
)


def any_text(draw: random.Random) -> str:
    """Return letters of a few scripts, spaces of every kind, and now and then anything at all."""
    some = "".join(draw.sample(ALPHABETS, draw.randint(1, 4))) + " " * 9 + ALPHABETS[0]
    size = draw.randint(0, 60)
    return "".join(
        chr(draw.randrange(0xD800)) if draw.random() < 0.02 else draw.choice(some) for _ in range(size)
    )


def walk(checkpoint: Checkpoint, draw: random.Random) -> list[int]:
    """Return pieces that may follow each other and end a text, as a search would write them."""
    automaton = checkpoint.target.automaton("char")
    pieces: list[int] = []
    state, most = automaton.start, draw.randint(1, 30)
    while len(pieces) < most or not automaton.accepts[state]:
        following = [number for number, cost in enumerate(automaton.cost[state]) if cost != FORBIDDEN]
        token = draw.choice(following)
        pieces.append(token - FIRST_PIECE)
        state = int(automaton.next_state[state, token])
    return pieces


def test_what_cannot_be_a_page_is_told_in_one_line(
    tmp_path: Path, exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runtime, full = tmp_path / "runtime", tmp_path / "full"
    runtime.mkdir()
    full.mkdir()
    for name in ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm"):
        (runtime / name).touch()
    (full / "mine").touch()
    weights = save_tiny(tmp_path / "weights")
    for output, model, dist, message in (
        (tmp_path / "site", exported, full, "must be the folder dist of the npm package onnxruntime-web"),
        (full, exported, runtime, "must be a new or an empty folder"),
        (tmp_path / "site", weights, runtime, "must be an exported model: copyfit export"),
    ):
        assert run(["page", str(output), "--model", str(model), "--runtime", str(dist)]) == 2
        error = capsys.readouterr().err
        assert error.startswith("copyfit: error: ")
        assert message in error
        assert error.count("\n") == 1
    assert not (tmp_path / "site").exists()
    with pytest.raises(CheckpointError, match="the page writes with models of unit char"):
        tables_of(tiny_checkpoint(unit="word"))
