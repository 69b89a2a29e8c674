"""Whatever a user gives that cannot be used, by whichever command: one line that says so, and exit code 2."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from copyfit.cli.app import run
from support_cli import Output, complaint
from support_writing import save_tiny

PAIRS = {
    "missing.tsv": (None, "missing.tsv must be a readable file"),
    "empty.tsv": (b"", "empty.tsv must hold at least one pair, it is empty"),
    "no-tab.tsv": (b"a text\ta title\na line without one\n", "no-tab.tsv:2: a tab must divide"),
    "latin.tsv": (b"a text\ta title\ncaf\xe9\ta title\n", "latin.tsv:2: it is not UTF-8"),
    "cut.tsv.gz": (b"\x1f\x8b\x08\x00\x00\x00", "cut.tsv.gz is damaged or cut off"),
}
TEXTS = {
    "missing.txt": (None, "missing.txt must be a readable file"),
    "empty.txt": (b"", "empty.txt must have at least one line, it is empty"),
    "latin.txt": (b"fine\ncaf\xe9\n", "latin.txt: line 2 must be UTF-8"),
}
RECIPE = 'name = "bad"\n[data]\ntrain = ["{pairs}"]\nworkers = 1\n[training]\nsteps = 1\n'


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "tiny")


def refusal(capsys: Output, *arguments: object) -> str:
    assert run(list(map(str, arguments))) == 2
    return complaint(capsys)


def made(path: Path, content: bytes | None) -> Path:
    if content is not None:
        path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("command", ["train", "prepare"])
def test_pairs_that_cannot_be_learned_from(tmp_path: Path, capsys: Output, command: str, name: str) -> None:
    content, message = PAIRS[name]
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE.format(pairs=made(tmp_path / name, content)), encoding="utf-8")
    assert message in refusal(capsys, command, recipe, "--output", tmp_path / "output")
    assert not (tmp_path / "output" / "data").exists()


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_that_cannot_be_evaluated_on(tmp_path: Path, capsys: Output, model: Path, name: str) -> None:
    content, message = PAIRS[name]
    data = made(tmp_path / name, content)
    assert message in refusal(capsys, "evaluate", "--model", model, "--data", data)


@pytest.mark.parametrize("name", TEXTS)
def test_texts_that_cannot_be_scored(tmp_path: Path, capsys: Output, name: str) -> None:
    content, message = TEXTS[name]
    texts = made(tmp_path / name, content)
    assert message in refusal(capsys, "rouge", "--hypotheses", texts, "--references", texts)


@pytest.mark.parametrize("name", TEXTS)
def test_texts_that_no_headline_can_be_written_for(
    tmp_path: Path, capsys: Output, model: Path, name: str
) -> None:
    content, message = TEXTS[name]
    texts = made(tmp_path / name, content)
    asked = ("--lines", "--file", texts, "--length", "9")
    assert message in refusal(capsys, "write", "--model", model, *asked)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--length", "0"], "error: length must be from 1 to 10000, given 0"),
        (["--length", "20000"], "error: length must be from 1 to 10000, given 20000"),
        (["--length", "ten"], "the length must be a whole number or `reference`, given 'ten'"),
        (["--unit", "furlong"], "error: the unit must be one of"),
        (["--length", "9", "--mode", "tight"], "error: mode must be one of"),
        (["--length", "9", "--mode", "range"], "error: mode range needs a min"),
    ],
)
def test_an_evaluation_that_cannot_be_made_is_refused_before_anything_is_opened(
    capsys: Output, flags: list[str], message: str
) -> None:
    assert message in refusal(capsys, "evaluate", "--model", "none", "--data", "none.tsv", *flags)


def truncated(folder: Path) -> str:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    return "model.safetensors must have"


def bit_flipped(folder: Path) -> str:
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "model.safetensors").write_bytes(content)
    return "model.safetensors is damaged"


def with_another_vocabulary_size(folder: Path) -> str:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["target_size"] += 1
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return "target_tokenizer.json must hold"


def pickled(folder: Path) -> str:
    torch.save({"weight": torch.zeros(3)}, folder / "model.safetensors")
    return "is a pickle, which can run code when opened"


def of_another_format(folder: Path) -> str:
    (folder / "config.json").write_text('{"format": 99}', encoding="utf-8")
    return "format must be 1, given 99"


@pytest.mark.parametrize(
    "harm", [truncated, bit_flipped, with_another_vocabulary_size, pickled, of_another_format]
)
def test_a_model_that_cannot_be_trusted(tmp_path: Path, capsys: Output, harm: Callable[[Path], str]) -> None:
    message = harm(save_tiny(tmp_path / "model"))
    assert message in refusal(capsys, "write", "x", "--length", "9", "--model", tmp_path / "model")
    assert message in refusal(capsys, "info", tmp_path / "model")


def test_an_output_that_cannot_be_written(tmp_path: Path, capsys: Output, model: Path) -> None:
    pairs = made(tmp_path / "pairs.tsv", b"a text\ta title\n" * 9)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE.format(pairs=pairs), encoding="utf-8")
    nowhere = pairs / "output.jsonl"
    evaluation = ("--model", model, "--data", pairs)
    for arguments in (
        ("train", recipe, "--output", nowhere),
        ("prepare", recipe, "--output", nowhere),
        ("evaluate", *evaluation, "--output", nowhere),
        ("write", "--model", model, "--input", made(tmp_path / "a.txt", b"x\n"), "--output", nowhere),
        ("rouge", "--hypotheses", pairs, "--references", pairs, "--per-item", nowhere),
        ("average", model, model, "--output", nowhere),
        ("examples", nowhere),
    ):
        assert "output.jsonl" in refusal(capsys, *arguments)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_cuda_where_there_is_none(tmp_path: Path, capsys: Output, model: Path) -> None:
    pairs = made(tmp_path / "pairs.tsv", b"a text\ta title\n" * 9)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE.format(pairs=pairs), encoding="utf-8")
    for arguments in (
        ("train", recipe, "--output", tmp_path / "output"),
        ("evaluate", "--model", model, "--data", pairs),
        ("write", "x", "--length", "9", "--model", model),
    ):
        assert "cuda" in refusal(capsys, *arguments, "--device", "cuda")
