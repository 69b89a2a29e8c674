"""Checkpoints of the paper's released code: what they compute, how they cut and write, what is refused."""

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from copyfit.checkpoint import open_checkpoint, read_config
from copyfit.cli.app import run
from copyfit.data.prepare import DataSection, prepare_with
from copyfit.data.prepared import Tokenizers
from copyfit.models.contract import Model
from copyfit.released.vocabularies import source_of_words, target_of
from copyfit.runtime.torch_model import open_model
from copyfit.writing.writer import Writer
from support_architectures import pack
from support_imports import LRPE_PE, Files, dictionary, files
from support_released import (
    EOS,
    KEPT,
    SOURCE_TOKENS,
    TARGET_TOKENS,
    WIDTH,
    Kind,
    Weights,
    content_of,
    released_logits,
    row_of,
    row_of_piece,
)
from support_steps import Walk

KINDS = {
    "lrpe+pe, shared, as released": LRPE_PE,
    "ldpe, post-norm, separate": Kind(ldpe=True),
    "ldpe+pe, pre-norm, shared": Kind(ldpe=True, pe=True, pre_norm=True, share="all"),
    "lrpe, pre-norm, tied output": Kind(lrpe=True, pre_norm=True, share="decoder"),
    "pe, post-norm, tied output": Kind(pe=True, share="decoder"),
    "pe, pre-norm, separate": Kind(pe=True, pre_norm=True),
}
SOURCE = "the storm clos@@ es a@@ nobody ,"
HEADLINE = "tea 東n!"


class Pair(NamedTuple):
    """A model of ours and what it is to compute: the logits of END and of each kept character."""

    model: Model
    source: list[int]
    fed: list[int]
    expected: np.ndarray[Any, np.dtype[np.float64]]


def pair(folder: Path, kind: Kind, weights: Weights, *, length: int) -> Pair:
    """Open an imported model in float64, and compute what the released one gives."""
    checkpoint = open_checkpoint(folder)
    target = kind.target_tokens
    logits = released_logits(
        kind,
        weights,
        [*(row_of(kind.source_tokens, word) for word in SOURCE.split()), EOS],
        [EOS, *(row_of_piece(target, character) for character in HEADLINE)],
        length=length,
    )
    return Pair(
        open_model(folder, checkpoint).double(),
        checkpoint.source.encode(SOURCE),
        checkpoint.target.encode(HEADLINE),
        logits[:, [EOS, *(row_of_piece(target, piece) for piece in checkpoint.target.pieces)]],
    )


@torch.inference_mode()
def check_forced(folder: Path, kind: Kind, weights: Weights) -> None:
    one = pair(folder, kind, weights, length=len(HEADLINE))
    forced = one.model(pack([(one.source, one.fed)]))
    np.testing.assert_allclose(forced[:, 2:].numpy(), one.expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", KINDS)
def test_logits_are_those_of_the_released_code(tmp_path: Path, name: str) -> None:
    kind = KINDS[name]
    check_forced(files(tmp_path, kind).imported(), kind, kind.weights())


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("length", [5, 7, 9])
@torch.inference_mode()
def test_stepped_logits_are_those_of_the_released_code_before_at_and_past_the_budget(
    tmp_path: Path, name: str, length: int
) -> None:
    kind = KINDS[name]
    one = pair(files(tmp_path, kind).imported(), kind, kind.weights(), length=length)
    walk = Walk(one.model, [one.source], [length])
    for consumed, (token, expected) in enumerate(zip([1, *one.fed], one.expected, strict=True)):
        logits = walk.step([[token]], consumed)
        np.testing.assert_allclose(logits[0, 0, 2:].numpy(), expected, rtol=0, atol=1e-6)


def test_every_weight_matters() -> None:
    """Show that the comparison would see any one weight in a wrong place."""
    kind = Kind(lrpe=True, pe=True, pre_norm=True)
    weights = kind.weights()
    source, fed = [4, 5, EOS], [EOS, 4, 5]
    before = released_logits(kind, weights, source, fed, length=2)
    for name, value in weights.items():
        if not name.endswith(("version", "_float_tensor", "in_proj_bias")):
            changed = weights | {name: value + np.linspace(0.1, 0.2, value.size).reshape(value.shape)}
            changed_logits = released_logits(kind, changed, source, fed, length=2)
            assert np.abs(changed_logits - before).max() > 1e-4, name


@pytest.mark.parametrize("zipped", [True, False])
def test_files_of_new_and_of_old_pytorch_are_read(tmp_path: Path, zipped: bool) -> None:
    folder = files(tmp_path, zipped=zipped).imported()
    assert read_config(folder).model.describe() == "positions lrpe+pe"
    assert "fairseq" not in sys.modules


def test_a_file_that_was_written_on_a_gpu_is_read_without_one(tmp_path: Path) -> None:
    made = files(tmp_path, zipped=False)
    content = made.released.checkpoint.read_bytes()
    assert b"ctorch\nFloatStorage\n" in content
    moved = content.replace(b"ctorch\nFloatStorage\n", b"ctorch.cuda\nFloatStorage\n")
    moved = moved.replace(b"X\x03\0\0\0cpu", b"X\x06\0\0\0cuda:0")
    made.released.checkpoint.write_bytes(moved)
    check_forced(made.imported(), LRPE_PE, LRPE_PE.weights())


def test_half_precision_is_read(tmp_path: Path) -> None:
    content = content_of(LRPE_PE)
    content["model"] = {name: weight.half() for name, weight in content["model"].items()}
    weights = {name: weight.float().numpy() for name, weight in content["model"].items()}
    check_forced(files(tmp_path, LRPE_PE, content).imported(), LRPE_PE, weights)


def modernised(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Name weights as fairseq did a year later."""
    modern: dict[str, torch.Tensor] = {}
    for name, weight in weights.items():
        if ".in_proj_" in name:
            attention, _, kind = name.partition(".in_proj_")
            for part, rows in zip("qkv", weight.split(WIDTH), strict=True):  # type: ignore[no-untyped-call]
                modern[f"{attention}.{part}_proj.{kind}"] = rows
        else:
            name = name.replace("layer_norms.0", "self_attn_layer_norm")
            modern[name.replace("layer_norms.1", "final_layer_norm")] = weight
    return modern


def test_names_of_later_versions_are_understood(tmp_path: Path) -> None:
    content = content_of(LRPE_PE)
    content["model"] = modernised(content["model"])
    check_forced(files(tmp_path, LRPE_PE, content).imported(), LRPE_PE, LRPE_PE.weights())


def test_an_imported_model_says_what_it_is(tmp_path: Path) -> None:
    config = read_config(files(tmp_path).imported())
    assert (config.name, config.unit, config.natural_length, config.longest_source) == (
        "model",
        "char",
        75,
        1024,
    )
    assert config.facts["Converted from"] == "checkpoint_best.pt, of the paper's released code"
    assert config.facts["Sources must be"] == "pieces of the source dictionary"
    assert config.facts["Left-out tokens"] == 3 + len(LRPE_PE.target_tokens) - len(KEPT) - 2
    assert config.model.model_dump() | {
        "layout": "released",
        "norm": "post",
        "dropout": 0.3,
        "tied": False,
    } == (config.model.model_dump())


def test_what_it_writes_has_the_score_that_the_released_code_gives(tmp_path: Path) -> None:
    """The probabilities are those over the kept tokens, the padding and the symbol of no use."""
    kind, length = Kind(ldpe=True, pe=True), 6
    writer = Writer(files(tmp_path, kind).imported(), device="cpu")
    headlines = writer.candidates(SOURCE, length=length, count=4, num_beams=4)
    assert len(headlines) == 4
    source = [*(row_of(SOURCE_TOKENS, word) for word in SOURCE.split()), EOS]
    for headline in headlines:
        rows = [row_of_piece(TARGET_TOKENS, character) for character in headline.text]
        logits = released_logits(kind, kind.weights(), source, [EOS, *rows], length=length)
        kept = logits[:, [0, 1, 2, *(row_of_piece(TARGET_TOKENS, piece) for piece in KEPT)]]
        log_sum = np.log(np.exp(kept).sum(-1))
        expected = sum(logits[step, row] - log_sum[step] for step, row in enumerate([*rows, EOS]))
        assert headline.length == length == len(headline.text)
        assert headline.score == pytest.approx(expected, abs=1e-4)


def test_a_source_that_is_too_long_still_ends(tmp_path: Path) -> None:
    short = files(tmp_path, LRPE_PE, content_of(LRPE_PE, max_source_positions=5)).imported()
    cut, whole = (
        Writer(short, device="cpu").candidates(text, length=9, count=1, num_beams=1)[0]
        for text in (SOURCE, " ".join(SOURCE.split()[:4]))
    )
    assert (cut.truncated, whole.truncated) == (True, False)
    assert cut.text == whole.text
    assert cut.score == whole.score


def test_prepared_sources_end_as_those_that_are_written_for(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(f"{SOURCE}\ttea\nthe storm\tnote\n", encoding="utf-8")
    tokenizers = Tokenizers(
        source_of_words(dictionary(SOURCE_TOKENS)).tokenizer, target_of(dictionary(TARGET_TOKENS)).vocabulary
    )
    section = DataSection(train=(str(pairs),), longest_source=4, workers=1)
    sources = prepare_with(section, tokenizers, tmp_path / "prepared").train.pairs.sources
    for row, text in enumerate((SOURCE, "the storm")):
        expected = tokenizers.source.shorten(tokenizers.source.encode(text), 4)
        assert sources.row(row).tolist() == expected
        assert expected[-1] == 2


class TestCommand:
    def arguments(self, made: Files) -> list[str]:
        released = made.released
        return [
            *("import", str(released.checkpoint), "--output", str(made.output)),
            *("--source-dictionary", str(released.source_dictionary)),
            *("--target-dictionary", str(released.target_dictionary)),
        ]

    def test_a_model_is_imported_described_and_writes(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        kind = Kind(ldpe=True, pe=True)
        made = files(tmp_path, kind)
        codes = tmp_path / "codes"
        codes.write_text("#version: 0.2\nt h\nth e</w>\n", encoding="utf-8")
        assert run([*self.arguments(made), "--source-codes", str(codes)]) == 0
        told = capsys.readouterr()
        assert told.err == ""
        # Nine pieces that the codes make are not in the dictionary.
        size = len(SOURCE_TOKENS) + 4
        assert told.out.startswith(
            f"{made.output}: positions ldpe+pe, {size + 4} source and 12 target tokens\n"
        )
        assert "\n  3 target tokens left out: longer than a character\n" in told.out
        assert run(["info", str(made.output), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["model"]["layout"] == "released"
        assert (
            run(["write", "the storm", "--length", "8", "--model", str(made.output), "--unit", "byte"]) == 0
        )
        assert len(capsys.readouterr().out.rstrip("\n").encode()) == 8

    @pytest.mark.parametrize(
        "missing", ["checkpoint", "source_dictionary", "target_dictionary", "source_codes"]
    )
    def test_what_is_missing_is_one_line_and_nothing_is_written(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], missing: str
    ) -> None:
        made = files(tmp_path)
        moved = made._replace(released=made.released._replace(**{missing: tmp_path / "nothing"}))
        codes = ["--source-codes", str(tmp_path / "nothing")] if missing == "source_codes" else []
        assert run([*self.arguments(moved), *codes]) == 2
        assert capsys.readouterr() == (
            "",
            f"copyfit: error: cannot read {tmp_path / 'nothing'}: No such file or directory\n",
        )
        assert not made.output.exists()

    def test_a_folder_of_something_else_is_not_overwritten(self, tmp_path: Path) -> None:
        made = files(tmp_path)
        made.output.mkdir()
        (made.output / "letter.txt").write_text("Dear", encoding="utf-8")
        assert "must be a new, an empty or a model folder" in made.refused()
        assert [path.name for path in made.output.iterdir()] == ["letter.txt"]
