"""The made-up news pairs: what a tiny model needs to learn length control from."""

import json
import re
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from copyfit import examples
from copyfit.examples import KINDS, LONGEST, SHORTEST, generate, write_examples

PAIRS = list(islice(generate(seed=7), 3_000))


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def test_every_story_is_told_once() -> None:
    assert len({source for source, _ in PAIRS}) == len(PAIRS)


def test_a_source_has_100_to_350_characters_and_one_to_three_sentences() -> None:
    for source, _ in PAIRS:
        assert 100 <= len(source) <= 350
        assert 1 <= source.count(". ") + source.endswith(".") <= 3


def test_every_word_of_a_headline_occurs_in_its_source() -> None:
    for source, headline in PAIRS:
        assert words(headline) <= words(source)


def test_the_language_is_small() -> None:
    assert len({word for source, _ in PAIRS for word in words(source)}) < 200


def test_words_that_may_be_left_out_have_one_length_within_their_class() -> None:
    classes = [examples.NUMBERS, examples.PLACES, examples.DAYS, examples.HOURS, examples.SPEAKERS]
    for name in ("agent_traits", "object_traits", "extras", "consequences"):
        classes.append(tuple(word for kind in KINDS for word in getattr(kind, name)))
    assert all(len(set(map(len, words))) == 1 for words in classes)


def test_headline_lengths_spread_evenly_between_the_bounds() -> None:
    lengths = Counter(len(headline) for _, headline in PAIRS)
    expected = len(PAIRS) / (LONGEST - SHORTEST + 1)
    assert set(lengths) == set(range(SHORTEST, LONGEST + 1))
    assert all(expected / 2 < count < expected * 2 for count in lengths.values())


def test_a_headline_is_plain_text_on_one_line() -> None:
    for _, headline in PAIRS:
        assert headline == " ".join(headline.split())
        assert headline.isascii()
        assert headline[0].isupper()


def test_the_same_seed_writes_the_same_files_and_another_seed_others(tmp_path: Path) -> None:
    for name, seed in (("first", 3), ("again", 3), ("other", 4)):
        write_examples(tmp_path / name, pairs=50, seed=seed)
    tests = ("test.tsv", "multi-length-test.jsonl", "writers-test.jsonl")
    files = ("train.tsv", "validation.tsv", "article.txt", *tests)
    read = {folder.name: [(folder / file).read_bytes() for file in files] for folder in tmp_path.iterdir()}
    assert read["first"] == read["again"]
    assert all(one != two for one, two in zip(read["first"], read["other"], strict=True))


@pytest.mark.parametrize(("pairs", "held_out"), [(50, 3), (100, 5)])
def test_the_parts_share_no_story_and_have_the_sizes_asked_for(
    tmp_path: Path, pairs: int, held_out: int
) -> None:
    write_examples(tmp_path, pairs=pairs)
    sources: list[str] = []
    for name, size in (("train", pairs), ("validation", held_out), ("test", held_out)):
        lines = (tmp_path / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
        assert len(lines) == size
        assert all(line.count("\t") == 1 for line in lines)
        sources += [line.split("\t")[0] for line in lines]
    sources.append((tmp_path / "article.txt").read_text(encoding="utf-8").strip())
    assert len(set(sources)) == len(sources)


def test_stories_with_several_headlines_have_them_in_their_lengths_and_words(tmp_path: Path) -> None:
    write_examples(tmp_path, pairs=600)
    told = {line.split("\t")[0] for line in (tmp_path / "train.tsv").read_text("utf-8").splitlines()}
    lengths = {"multi-length-test": [25, 35, 45], "writers-test": range(40, 61)}
    for name, allowed in lengths.items():
        stories = [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text("utf-8").splitlines()]
        assert len(stories) == 30
        for story in stories:
            assert story["source"] not in told
            found = [len(headline) for headline in story["references"]]
            assert found == allowed or (len(set(found)) == 4 and set(found) <= set(allowed))
            assert all(words(headline) <= words(story["source"]) for headline in story["references"])
