"""Words and codes of the released code, and the tokenizer that they make."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.errors import CheckpointError
from copyfit.released.dictionary import Dictionary, read_codes, read_dictionary
from copyfit.released.vocabularies import source_of_codes, source_of_words, target_of
from support_imports import dictionary
from support_released import (
    EOS,
    KEPT,
    SOURCE_TOKENS,
    TARGET_TOKENS,
    row_of,
    write_dictionary,
)


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
