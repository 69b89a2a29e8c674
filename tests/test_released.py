"""Checkpoints of the paper's released code: what they compute, how they cut and write, what is refused."""

import json
import os
import pickle
import random
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from copyfit.checkpoint import open_checkpoint, read_config
from copyfit.cli.app import run
from copyfit.data.prepare import DataSection, prepare_with
from copyfit.data.prepared import Tokenizers
from copyfit.errors import CheckpointError, CopyfitError
from copyfit.models.contract import Model
from copyfit.released.convert import Released, import_released
from copyfit.released.dictionary import Dictionary, read_codes, read_dictionary
from copyfit.released.vocabularies import source_of_codes, source_of_words, target_of
from copyfit.runtime.torch_model import open_model
from copyfit.writing.writer import Writer
from support_architectures import pack
from support_released import (
    EOS,
    KEPT,
    SOURCE_TOKENS,
    TARGET_TOKENS,
    WIDTH,
    Kind,
    Weights,
    content_of,
    fairseq_meters,
    released_logits,
    row_of,
    row_of_piece,
    save,
    write_dictionary,
)
from support_steps import Walk

LRPE_PE = Kind(lrpe=True, pe=True, share="all")
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


class Files(NamedTuple):
    """The files that a test imports, and where to."""

    released: Released
    output: Path

    def imported(self) -> Path:
        import_released(self.released, self.output)
        return self.output

    def refused(self) -> str:
        """Import, and return why it failed; nothing may be left behind."""
        before = sorted(self.output.parent.iterdir())
        with pytest.raises(CopyfitError) as caught:
            import_released(self.released, self.output)
        assert sorted(self.output.parent.iterdir()) == before
        message = str(caught.value)
        assert "\n" not in message
        return message


def files(folder: Path, kind: Kind = LRPE_PE, content: dict[str, Any] | None = None, **how: Any) -> Files:
    return Files(
        Released(
            save(folder / "checkpoint_best.pt", content or content_of(kind), **how),
            write_dictionary(folder / "dict.article.txt", kind.source_tokens),
            write_dictionary(folder / "dict.title.txt", kind.target_tokens),
        ),
        folder / "model",
    )


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


class TestDictionaries:
    def test_tokens_stand_behind_four_special_ones(self, tmp_path: Path) -> None:
        path = tmp_path / "dict.txt"
        path.write_text("the 12\n# 3\n\u2028x 1\n", encoding="utf-8")
        assert read_dictionary(path) == Dictionary(("the", "#", "\u2028x"), (12, 3, 1))
        assert read_dictionary(path).size == 7

    @pytest.mark.parametrize("content", ["the", "the twelve", " 12", "the 1\n\na 2", "the -1", "the ²"])
    def test_other_lines_are_refused(self, tmp_path: Path, content: str) -> None:
        path = tmp_path / "dict.txt"
        path.write_text(content, encoding="utf-8")
        with pytest.raises(CheckpointError, match=r"dict\.txt:\d: a line must be a token"):
            read_dictionary(path)

    def test_a_token_in_two_lines_is_refused(self, tmp_path: Path) -> None:
        path = write_dictionary(tmp_path / "dict.txt", ["a", "b", "a"])
        with pytest.raises(CheckpointError, match=r"dict\.txt:3: a token must stand in one line only, 'a'"):
            read_dictionary(path)

    def test_what_is_no_text_and_what_is_missing_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "dict.txt").write_bytes(b"a 1\n\xff 2\n")
        with pytest.raises(CheckpointError, match="must be UTF-8 text: byte 4 is not"):
            read_dictionary(tmp_path / "dict.txt")
        with pytest.raises(CheckpointError, match="cannot read"):
            read_dictionary(tmp_path / "nothing.txt")

    def test_targets_keep_single_characters_that_join_nothing(self) -> None:
        side = target_of(dictionary(TARGET_TOKENS))
        assert side.vocabulary.pieces == KEPT
        assert side.left_out == {"special": 3, "longer than a character": 3, "not solid": 2}

    @pytest.mark.parametrize("spaces", [("@@@@", "@@@"), ("@@@", "@@@@")])
    def test_the_more_frequent_mark_stands_for_a_space(self, spaces: tuple[str, str]) -> None:
        side = target_of(dictionary(["a", *spaces]))
        assert side.vocabulary.pieces == ("a", " ")
        assert side.kept == (4, 5)

    def test_a_language_without_spaces_has_none(self) -> None:
        assert target_of(dictionary(["東", "京"])).vocabulary.pieces == ("東", "京")

    def test_a_target_dictionary_of_words_is_refused(self) -> None:
        with pytest.raises(CheckpointError, match="must hold single characters"):
            target_of(dictionary(["the", "storm"]))


def dictionary(tokens: Sequence[str]) -> Dictionary:
    return Dictionary(tuple(tokens), tuple(range(len(tokens), 0, -1)))


def cut(word: str, merges: Sequence[tuple[str, str]]) -> list[str]:
    """Cut a word as subword-nmt does: of all pairs the first code's, wherever it stands, again and again."""
    pieces = [*word[:-1], word[-1] + "</w>"]
    while len(pieces) > 1:
        ranks = [merges.index(both) for both in pairwise(pieces) if both in merges]
        if not ranks:
            break
        left, right = merges[min(ranks)]
        joined: list[str] = []
        for piece in pieces:
            if joined and joined[-1] == left and piece == right:
                joined[-1] = left + right + "\n"
            else:
                joined.append(piece)
        pieces = [piece.replace("\n", "") for piece in joined]
    return [*(f"{piece}@@" for piece in pieces[:-1]), pieces[-1].removesuffix("</w>")]


def learn(words: Sequence[str], size: int) -> list[tuple[str, str]]:
    """Learn codes from words: the most frequent pair is joined next."""
    merges: list[tuple[str, str]] = []
    for _ in range(size):
        counts: dict[tuple[str, str], int] = {}
        for word in words:
            pieces = [piece.removesuffix("@@") for piece in cut(word, merges)]
            pieces[-1] += "</w>"
            for both in pairwise(pieces):
                counts[both] = counts.get(both, 0) + 1
        if not counts:
            break
        merges.append(max(sorted(counts), key=counts.__getitem__))
    return merges


KNOWN = (
    "storm storms stormy harbour harbours the then thence other others mother school schools schooling "
    "close closes closed closing aaaa aaaaa banana bananas e-mail 1990 1991 ---- @@ @@@@ x@@ é éé"
)
WORDS = KNOWN.split()
CODES = learn(WORDS, 60)
PIECES = sorted({piece for word in WORDS for piece in cut(word, CODES)})
SOME = [piece for place, piece in enumerate(PIECES) if place % 5]
"""A dictionary that lacks some of the pieces."""


def check_cut(text: str, tokens: Sequence[str]) -> None:
    """Compare with codes and dictionary looked up by hand; compare rows, which alone decide."""
    side = source_of_codes(dictionary(tokens), CODES)
    expected = [row_of(tokens, piece) for word in text.split() for piece in cut(word, CODES)]
    assert [side.rows[token] for token in side.tokenizer.encode(text)] == [*expected, EOS]


@given(st.lists(st.one_of(st.sampled_from(WORDS), st.text("storm-@eaé界", min_size=1)), max_size=8))
def test_words_are_cut_as_by_subword_nmt(words: list[str]) -> None:
    check_cut(" ".join(words), PIECES)
    check_cut(" ".join(words), SOME)


def test_codes_and_words_have_what_it_takes_to_fail() -> None:
    assert len(CODES) == 60
    assert cut("storms", CODES) != cut("stormy", CODES)
    pieces = {piece for word in WORDS for piece in cut(word, CODES)}
    assert any(piece.endswith("@@") for piece in pieces)
    assert any(len(piece) > 4 for piece in pieces)


def test_cut_sources_are_looked_up_as_they_are() -> None:
    side = source_of_words(dictionary(SOURCE_TOKENS))
    text = "the sch@@ ool ⟨end⟩ ⟨unknown⟩ <unk> </s> the@@"
    rows = [side.rows[token] for token in side.tokenizer.encode(text)]
    assert rows == [*(row_of(SOURCE_TOKENS, word) for word in text.split()), EOS]
    assert side.tokenizer.decode(side.tokenizer.encode("the sch@@ ool ,")) == "the sch@@ ool ,"


def test_joined_pieces_decode_to_words() -> None:
    tokenizer = source_of_codes(dictionary(PIECES), CODES).tokenizer
    assert tokenizer.decode(tokenizer.encode("storms harbour 1990")) == "storms harbour 1990"


@pytest.mark.parametrize("with_codes", [True, False])
@pytest.mark.parametrize("text", ["the storm", "", "nobody"])
def test_the_source_tokenizer_is_a_file_that_says_it_all(with_codes: bool, text: str) -> None:
    from tokenizers import Tokenizer

    side = source_of_codes(dictionary(PIECES), CODES) if with_codes else source_of_words(dictionary(WORDS))
    assert Tokenizer.from_str(side.tokenizer.to_json()).encode(text).ids == side.tokenizer.encode(text)
    assert side.tokenizer.size == len(side.rows)


class TestCodes:
    def test_repeated_codes_count_where_they_stand_first(self, tmp_path: Path) -> None:
        path = tmp_path / "codes"
        path.write_text("#version: 0.2\ne r</w>\nt h\ne r</w>\n", encoding="utf-8")
        assert read_codes(path) == (("e", "r</w>"), ("t", "h"))

    @pytest.mark.parametrize("content", ["", "e r</w>\n", "#version: 0.1\ne r\n", "#version: 0.20\n"])
    def test_other_versions_are_refused(self, tmp_path: Path, content: str) -> None:
        (tmp_path / "codes").write_text(content, encoding="utf-8")
        with pytest.raises(CheckpointError, match=r"must begin with '#version: 0\.2'"):
            read_codes(tmp_path / "codes")

    @pytest.mark.parametrize("line", ["e", "", "e r x", "e "])
    def test_lines_of_other_than_two_pieces_are_refused(self, tmp_path: Path, line: str) -> None:
        (tmp_path / "codes").write_text(f"#version: 0.2\nt h\n{line}\na b\n", encoding="utf-8")
        with pytest.raises(CheckpointError, match="codes:3: a line must be two pieces"):
            read_codes(tmp_path / "codes")


class Trap:
    """Leave a mark when unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.mark),)


PLACES: dict[str, Callable[[dict[str, Any], Trap], object]] = {
    "in the args": lambda content, trap: setattr(content["args"], "data", trap),
    "in a list of the args": lambda content, trap: setattr(content["args"], "lr", [0.1, trap]),
    "as the args": lambda content, trap: content.update(args=trap),
    "among the weights": lambda content, trap: content["model"].update(more=trap),
    "beside everything": lambda content, trap: content.update(more=trap),
    "beside the meters": lambda content, trap: content["extra_state"].update(more=trap),
}


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("place", PLACES)
def test_what_would_act_is_refused_and_never_run(tmp_path: Path, place: str, zipped: bool) -> None:
    content = content_of(LRPE_PE)
    PLACES[place](content, Trap(tmp_path / "mark"))
    made = files(tmp_path, LRPE_PE, content, zipped=zipped)
    assert (
        "must hold plain values and weights only, it asks for posix.mkdir: nothing was run" in made.refused()
    )
    assert not (tmp_path / "mark").exists()


def test_the_trap_would_have_acted(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Trap(tmp_path / "mark")))  # noqa: S301
    assert (tmp_path / "mark").exists()


@pytest.mark.parametrize("protocol", range(6))
def test_a_bare_pickle_is_refused_and_never_run(tmp_path: Path, protocol: int) -> None:
    made = files(tmp_path)
    made.released.checkpoint.write_bytes(pickle.dumps(Trap(tmp_path / "mark"), protocol))
    assert "checkpoint_best.pt must" in made.refused()
    assert not (tmp_path / "mark").exists()


def test_other_classes_of_fairseq_are_refused(tmp_path: Path) -> None:
    content = content_of(LRPE_PE)
    made = files(tmp_path)
    with fairseq_meters() as classes:
        torch.save(content | {"more": classes["Unheard"]()}, made.released.checkpoint)
    assert "it asks for fairseq.meters.Unheard: nothing was run" in made.refused()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1, 2], "must be a table with args and model, it is of the type list"),
        ({"model": {}}, "args must be an argparse.Namespace, it is not there"),
        ({"args": {"arch": "transformer"}, "model": {}}, "it is of the type dict"),
        ({"args": content_of(LRPE_PE)["args"], "model": 3}, "model must be a table of weights"),
        ({"args": content_of(LRPE_PE)["args"], "model": {"a": 3}}, "by name, 'a' is none"),
        ({"args": content_of(LRPE_PE)["args"], "model": {4: torch.zeros(1)}}, "by name, 4 is none"),
        (
            {"args": content_of(LRPE_PE)["args"], "model": {"a": torch.ones(2, dtype=torch.long)}},
            "dense tensors of floats by name, 'a' is none",
        ),
        (
            {"args": content_of(LRPE_PE)["args"], "model": {"a": torch.ones(2, 2).to_sparse()}},
            "dense tensors of floats by name, 'a' is none",
        ),
    ],
)
def test_files_of_other_programs_are_refused(tmp_path: Path, content: object, message: str) -> None:
    made = files(tmp_path)
    torch.save(content, made.released.checkpoint)
    assert message in made.refused()


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    made = files(tmp_path)
    made.released.checkpoint.unlink()
    assert "checkpoint_best.pt: No such file or directory" in made.refused()


@pytest.mark.parametrize("zipped", [True, False])
def test_a_file_cut_off_anywhere_is_refused(tmp_path: Path, zipped: bool) -> None:
    made = files(tmp_path, zipped=zipped)
    content = made.released.checkpoint.read_bytes()
    for length in sorted({0, 1, 2, 40, len(content) - 1, *range(0, len(content), len(content) // 25)}):
        made.released.checkpoint.write_bytes(content[:length])
        assert "checkpoint_best.pt" in made.refused()


@pytest.mark.parametrize("zipped", [True, False])
def test_a_file_with_flipped_bits_is_read_or_refused(tmp_path: Path, zipped: bool) -> None:
    made = files(tmp_path, zipped=zipped)
    content = made.released.checkpoint.read_bytes()
    draw = random.Random(7)
    refused = 0
    for _ in range(60):
        flipped = bytearray(content)
        flipped[draw.randrange(4000)] ^= 1 << draw.randrange(8)
        made.released.checkpoint.write_bytes(flipped)
        try:
            made.imported()
        except CheckpointError:
            refused += 1
    assert refused > 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arch": "lstm"}, "arch: String should match pattern '^transformer', given 'lstm'"),
        ({"encoder_learned_pos": True}, "encoder_learned_pos: Input should be False, given True"),
        ({"decoder_learned_pos": True}, "decoder_learned_pos: Input should be False, given True"),
        ({"adaptive_softmax_cutoff": "1000,5000"}, "adaptive_softmax_cutoff: Input should be None"),
        ({"no_token_positional_embeddings": True}, "no_token_positional_embeddings: Input should be False"),
        ({"no_scale_embedding": True}, "no_scale_embedding: Input should be False"),
        ({"activation_fn": "gelu"}, "activation_fn: Input should be 'relu', given 'gelu'"),
        (
            {"decoder_attention_heads": 2},
            "encoder_attention_heads and decoder_attention_heads must be equal, given 3 and 2",
        ),
        ({"decoder_embed_dim": 24}, "encoder_embed_dim and decoder_embed_dim must be equal"),
        ({"decoder_input_dim": 6}, "decoder_embed_dim and decoder_input_dim must be equal"),
        ({"decoder_output_dim": 6}, "decoder_embed_dim and decoder_output_dim must be equal"),
        ({"decoder_ffn_embed_dim": 21}, "encoder_ffn_embed_dim and decoder_ffn_embed_dim must be equal"),
        ({"decoder_normalize_before": True}, "decoder_normalize_before must be equal, given False and True"),
        ({"encoder_attention_heads": 5, "decoder_attention_heads": 5}, "width must be a multiple of heads"),
        ({"encoder_layers": "many"}, "encoder_layers: Input should be a valid integer"),
        ({"encoder_layers": 0}, "encoder_layers: Input should be greater than or equal to 1"),
        ({"ordinary_sinpos": False, "represent_length_by_lrpe": False}, "given none of them"),
        ({"represent_length_by_ldpe": True}, "given lrpe+ldpe+pe"),
    ],
)
def test_what_cannot_be_honoured_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    refused = files(tmp_path, LRPE_PE, content_of(LRPE_PE, **change)).refused()
    assert refused.startswith(f"{tmp_path / 'checkpoint_best.pt'}: args: ")
    assert message in refused


def without(name: str) -> Weights:
    return {key: weight for key, weight in LRPE_PE.weights().items() if key != name}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            without("decoder.layers.1.encoder_attn.in_proj_weight"),
            "must hold decoder.layers.1.encoder_attn.in_proj_weight, which is missing",
        ),
        (
            without("encoder.layers.0.layer_norms.1.bias"),
            "must hold encoder.layers.0.layer_norms.1.bias or encoder.layers.0.final_layer_norm.bias, which",
        ),
        (without("encoder.embed_tokens.weight"), "must hold encoder.embed_tokens.weight, which is missing"),
        (
            {**LRPE_PE.weights(), "decoder.layers.0.self_attn.bias_k": np.ones(3, np.float32)},
            "plain Transformer only, it holds decoder.layers.0.self_attn.bias_k",
        ),
        (
            {**LRPE_PE.weights(), **{f"more{number}": np.ones(1, np.float32) for number in range(7)}},
            "it holds more0, more1, more2, more3, more4 and 2 more",
        ),
        (
            {**LRPE_PE.weights(), "encoder.layers.0.fc1.weight": np.ones((3, 4), np.float32)},
            "encoder.layers.0.fc1.weight must have the shape (20, 12), it has (3, 4)",
        ),
        (
            {**LRPE_PE.weights(), "encoder.embed_tokens.weight": np.ones((9, WIDTH), np.float32)},
            "must have a row for each of the 28 tokens of the source dictionary and fairseq, it has 9",
        ),
        (
            {**LRPE_PE.weights(), "decoder.embed_tokens.weight": np.ones((28, 3), np.float32)},
            "decoder.embed_tokens.weight must have the shape (28, 12), it has (28, 3)",
        ),
        (
            {**LRPE_PE.weights(), "encoder.layers.0.fc1.bias": np.full(20, np.nan, np.float32)},
            "weights must be finite numbers, encoder.0.feed_forward.inner.bias is not",
        ),
    ],
)
def test_wrong_weights_are_named(tmp_path: Path, weights: Weights, message: str) -> None:
    assert message in files(tmp_path, LRPE_PE, content_of(LRPE_PE, weights)).refused()


def test_layers_that_args_do_not_tell_are_named(tmp_path: Path) -> None:
    content = content_of(LRPE_PE, decoder_layers=2)
    refused = files(tmp_path, LRPE_PE, content).refused()
    assert "it holds decoder.layers.2.encoder_attn.in_proj_bias, " in refused
    assert refused.endswith(" more")


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
