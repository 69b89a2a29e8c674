"""An exported model writes what the model writes, without PyTorch."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest
from jaxtyping import config

from copyfit.checkpoint import ADVANCE_GRAPH, open_checkpoint, read_config
from copyfit.cli.app import run
from copyfit.errors import CheckpointError, RequestError
from copyfit.generation.jobs import Sampling, SearchOptions
from copyfit.runtime import exporting
from copyfit.runtime.exporting import Traced, export, trace_checkpoint
from copyfit.runtime.onnx_engine import open_onnx_engine
from copyfit.text.units import count
from copyfit.writing.measure import Measure
from copyfit.writing.requests import Wish
from copyfit.writing.writer import Effort, Order, Writer
from support_writing import ARTICLE, TEXTS, forge, save_tiny

pytestmark = pytest.mark.long

ASKED = (
    {"length": 24},
    {"length": 1},
    {"length": 70, "mode": "max"},
    {"length": 40, "minimum": 20, "mode": "range"},
    {"length": 31, "unit": "cell"},
    {"length": 75, "unit": "byte", "num_beams": 1},
    {"length": 6, "unit": "word", "num_beams": 9},
    {"length": 30, "mode": "free"},
    {"length": 40, "require": ["park", "old town"]},
    {"length": 40, "start": "A storm", "no_repeat_ngram_size": 1},
    {"length": 60, "no_repeat_ngram_size": 2},
    {"length": 60, "no_repeat_ngram_size": 3},
)


@pytest.fixture(scope="module", autouse=True)
def unchecked() -> Iterator[None]:
    """Leave shapes unchecked: the checks look at sizes, which a trace must take for any."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    return save_tiny(folder / "tiny")


@pytest.fixture(scope="module")
def traced(model: Path) -> Traced:
    return trace_checkpoint(model)


@pytest.fixture(scope="module")
def exported(folder: Path, traced: Traced) -> Path:
    agreement = export(traced, folder / "fp32", precision="fp32")
    assert agreement.same == agreement.exact == 1
    assert agreement.score_difference < 1e-3
    return folder / "fp32"


def told(writer: Writer, asked: object, text: str) -> list[tuple[str, float]]:
    options = {"count": 3} | dict(asked)  # type: ignore[call-overload]
    return [(line.text, line.score) for line in writer.candidates(text, **options)]


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_graphs_write_what_the_model_writes(model: Path, exported: Path, asked: object) -> None:
    for text in (ARTICLE, TEXTS[2], "x"):
        expected, found = told(Writer(model), asked, text), told(Writer(exported), asked, text)
        assert [text for text, _ in found] == [text for text, _ in expected]
        assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=1e-3)


def test_graphs_take_batches_of_rows_that_differ_in_everything(model: Path, exported: Path) -> None:
    items = [(text, length) for text in TEXTS for length in (5, 30, 90)]
    expected, found = (list(Writer(folder).pipe(items, batch_size=7)) for folder in (model, exported))
    assert [line.text for line in found] == [line.text for line in expected]
    assert all(line.fits for line in found)


def test_rows_leave_a_batch_when_they_are_over_or_withdrawn_and_disturb_no_other(exported: Path) -> None:
    writer, effort = Writer(exported), Effort(num_beams=3)
    asked: list[bool] = []

    def for_three_steps() -> bool:
        asked.append(True)
        return len(asked) < 6

    orders = [Order(TEXTS[0], Wish(length)) for length in (70, 4, 60, 5, 6)]
    alone = [writer.fulfil([order], effort)[0].headlines[0].text for order in orders]
    withdrawn = Order(TEXTS[1], Wish(65), wanted=for_three_steps)
    *kept, given_up = writer.fulfil([*orders, withdrawn], effort)
    assert [result.headlines[0].text for result in kept] == alone
    assert given_up.error == "the order was withdrawn before it was served"
    assert len(asked) < 12


def test_texts_of_the_models_own_length_are_the_same_alone_and_in_any_batch(
    model: Path, exported: Path
) -> None:
    effort = Effort(num_beams=3)
    orders = [Order(text, Wish(length, mode="free")) for text in TEXTS for length in (3, 9, 30)]
    for folder in (model, exported):
        writer = Writer(folder)
        alone = [writer.fulfil([order], effort)[0].headlines[0].text for order in orders]
        together = [result.headlines[0].text for result in writer.fulfil(orders, effort)]
        assert together == alone


def test_threads_share_the_graphs(exported: Path) -> None:
    writer = Writer(exported)
    expected = [writer(text, length=30) for text in TEXTS]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: writer(text, length=30), TEXTS * 2))
    assert found == expected * 2


@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_smaller_numbers_keep_every_promise(
    folder: Path, traced: Traced, exported: Path, precision: exporting.Precision
) -> None:
    agreement = export(traced, folder / precision, precision=precision)
    assert agreement.exact == 1
    assert read_config(folder / precision).facts["Exported in"] == precision
    full, small = ((folder / name / ADVANCE_GRAPH).stat().st_size for name in ("fp32", precision))
    assert small < 0.9 * full
    writer = Writer(folder / precision)
    for length in (1, 13, 40, 150):
        headline = writer(ARTICLE, length=length)
        assert count(headline, "char") == length
    assert exported.exists()


def test_the_command_exports_and_what_it_wrote_runs_without_pytorch(
    tmp_path: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", str(model), "--to", "onnx", "--output", str(tmp_path / "out")]) == 0
    assert "100% are those of PyTorch" in capsys.readouterr().err
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "from copyfit.cli.app import run\n"
        f"code = run(['write', {ARTICLE!r}, '--length', '33', '--model', {str(tmp_path / 'out')!r}])\n"
        "assert 'jaxtyping' not in sys.modules\n"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, len(done.stdout), done.stderr) == (0, 34, "")
    assert done.stdout == Writer(model)(ARTICLE, length=33) + "\n"
    assert run(["info", str(tmp_path / "out")]) == 0
    assert "Exported in" in capsys.readouterr().out


def test_what_graphs_cannot_do_is_refused(exported: Path, model: Path) -> None:
    checkpoint = open_checkpoint(exported)
    counting = Measure(checkpoint.target, "char", "char", ucs2=False).counting
    with pytest.raises(RequestError, match="drawing at random needs the engine torch"):
        open_onnx_engine(exported).search([], counting, SearchOptions(sampling=Sampling()))
    refused: Sequence[tuple[type[Exception], str, object]] = (
        (RequestError, "exported models run on cpu", lambda: Writer(exported, device="cuda")),
        (RequestError, "exported models run alone, given 2", lambda: Writer([exported, exported])),
        (CheckpointError, "holds graphs, which can only be run", lambda: Writer(exported, engine="torch")),
        (CheckpointError, "holds weights, no graphs", lambda: Writer(model, engine="onnx")),
        (RequestError, "the engine must be one of", lambda: Writer(model, engine="tpu")),
        (
            CheckpointError,
            "holds graphs, which can only be run",
            lambda: trace_checkpoint(exported),
        ),
    )
    for kind, message, act in refused:
        with pytest.raises(kind, match=message):
            act()  # type: ignore[operator]


def test_a_file_that_is_no_graph_is_told_in_one_line(exported: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in exported.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    forge(copy, ADVANCE_GRAPH, b"not a graph")
    with pytest.raises(CheckpointError, match=r"\A[^\n]*advance.onnx must be an ONNX graph: [^\n]*\Z"):
        Writer(copy)
    (copy / ADVANCE_GRAPH).write_bytes(b"shorter")
    with pytest.raises(CheckpointError, match=r"advance\.onnx must have 11 bytes, it has 7"):
        Writer(copy)


def test_graphs_that_differ_from_the_model_are_refused(
    traced: Traced, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disturbed(given: onnx.ModelProto) -> bytes:
        graph = onnx.ModelProto()
        graph.CopyFrom(given)
        for array in graph.graph.initializer:
            values = onnx.numpy_helper.to_array(array)
            if values.dtype == np.float32 and values.size > 100:
                noise = np.random.default_rng(1).standard_normal(values.shape).astype(np.float32)
                array.CopyFrom(onnx.numpy_helper.from_array(values + noise, array.name))
        return bytes(graph.SerializeToString())

    monkeypatch.setitem(exporting._STORES, "fp32", disturbed)
    with pytest.raises(CheckpointError, match="the graphs must write what the model writes"):
        export(traced, tmp_path / "out", precision="fp32")
    assert not (tmp_path / "out").exists()
