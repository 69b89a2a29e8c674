"""Which rows a sample draws, and which pairs filters keep."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.data.corpus import BLOCK_ROWS, stop
from copyfit.data.duplicates import Gate, PairHashes, Seen
from copyfit.data.filters import FilterSection, fingerprint, objection, overlap
from copyfit.data.prepare import DataSection, train_tokenizers
from copyfit.data.sample import sample_pairs
from copyfit.environment import cores
from copyfit.errors import DataError
from copyfit.text.tokenizer import SourceSection
from copyfit.text.vocabulary import TargetSection
from support_prepare import CHARACTERS, SOURCE, Rows


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, Rows], str]:
    def write_rows(name: str, rows: Rows) -> str:
        path = tmp_path / name
        path.write_text("".join("\t".join(row) + "\n" for row in rows))
        return str(path)

    return write_rows


def test_a_sample_is_even_over_all_files_and_in_their_order(write: Callable[[str, Rows], str]) -> None:
    rows = [(f"{number}", "t") for number in range(3 * BLOCK_ROWS)]
    paths = [write("a.tsv", rows[:5000]), write("b.tsv", rows[5000:])]
    drawn = list(sample_pairs(paths, 600, seed=5, on_bad_line=stop))
    numbers = [int(pair.source) for _, pair in drawn]
    assert numbers == sorted(set(numbers))
    assert sorted(rank for rank, _ in drawn) == list(range(600))
    assert all(
        150 < sum(low <= number < low + BLOCK_ROWS for number in numbers) < 250 for low in (0, 2048, 4096)
    )
    assert len(list(sample_pairs(paths, 10**9, seed=5, on_bad_line=stop))) == len(rows)


def test_a_smaller_sample_of_sources_is_drawn_evenly_too(write: Callable[[str, Rows], str]) -> None:
    rows = [("aaaa aaaa", "x")] * 300 + [("zzzz zzzz", "x")] * 300
    section = DataSection(train=(write("a.tsv", rows),))
    source = SourceSection.model_validate({"size": 300, "sample": 40})
    tokenizer = train_tokenizers(section, source, CHARACTERS).source
    assert len(tokenizer.encode("aaaa")) < 4
    assert len(tokenizer.encode("zzzz")) < 4


def test_a_sample_of_targets_is_even_when_sources_have_several(
    write: Callable[[str, Rows], str],
) -> None:
    records = [{"source": "the storm", "targets": [letter] * 3} for letter in "qrz" for _ in range(100)]
    path = write("a.jsonl", [(json.dumps(record),) for record in records])
    target = TargetSection.model_validate({"sample": 60, "minimum": 30})
    assert train_tokenizers(DataSection(train=(path,)), SOURCE, target).target.pieces == ("q", "r", "z")
    few = target.model_copy(update={"sample": 9})
    with pytest.raises(DataError, match="27 texts have none"):
        train_tokenizers(DataSection(train=(path,)), SOURCE, few)


@pytest.mark.parametrize(
    ("source", "target", "share"),
    [
        ("The mayor opened a bridge.", "Mayor opens BRIDGE", 2 / 3),
        ("The mayor's bridges", "mayor bridge", 1.0),
        ("nothing in common", "a to of", 0.0),
        ("to be", "to be", 1.0),
        ("市長が新しい橋を開通させた", "新しい橋", 1.0),
        ("市長が新しい橋を開通させた", "古い道", 0.0),
        ("서울시가 다리를 열었다", "다리 서울", 1.0),
        ("ᬧᬲᬃ ᬳᬜᬃ", "ᬳᬜᬃ", 1.0),
        ("橋、開通へ", "橋・開通", 1.0),
        ("anything", "!?", 0.0),
    ],
)
def test_overlap_is_the_share_of_content_words_found_in_the_source(
    source: str, target: str, share: float
) -> None:
    assert overlap(source, target) == pytest.approx(share)


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("abc", "storms", "source_characters"),
        ("abcdefghijk", "storms", "source_characters"),
        ("abcd", "ab", "target_characters"),
        ("abcd", "storms!!", "target_characters"),
        ("abcd", "storms", "overlap"),
        ("a storms", "storms", None),
    ],
)
def test_bounds_are_inclusive_and_the_first_filter_is_named(
    source: str, target: str, reason: str | None
) -> None:
    section = FilterSection(source_characters=(4, 10), target_characters=(3, 7), overlap=0.1)
    assert objection(source, target, section) == reason


@given(st.lists(st.lists(st.integers(0, 40), max_size=30), max_size=20))
def test_hashes_are_new_exactly_once(blocks: list[list[int]]) -> None:
    seen, known = Seen(), set[int]()
    for block in blocks:
        hashes = np.array(block, np.uint64)
        assert seen.holds(hashes).tolist() == [value in known for value in block]
        expected = []
        for value in block:
            expected.append(value not in known)
            known.add(value)
        assert seen.add(hashes).tolist() == expected


def test_all_duplicates_can_be_kept() -> None:
    block = PairHashes(np.array([7], np.uint64), np.array([0, 0]), np.array([8, 8], np.uint64))
    gate, dropped = Gate("keep"), Counter[str]()
    assert gate.pass_validation(block, dropped).all()
    assert gate.pass_training(block, dropped).all()
    assert not dropped


def test_fingerprints_tell_texts_and_seeds_apart() -> None:
    prints = {fingerprint(text, seed) for text in ("", "a", "b", "ab") for seed in (0, 1, 2**64 - 1)}
    assert len(prints) == 12
    assert max(prints) < 2**64


def test_there_is_at_least_one_core() -> None:
    assert cores() >= 1
