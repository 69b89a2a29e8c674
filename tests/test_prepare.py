"""From files to stores: what is kept, what is dropped and why, and that nothing depends on the workers."""

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.config import check
from copyfit.data.accounts import REASONS, table
from copyfit.data.batches import BatchPlan, BatchSection, fit_shape
from copyfit.data.corpus import BLOCK_ROWS, stop
from copyfit.data.duplicates import Gate, PairHashes, Seen
from copyfit.data.encode import UNWRITABLE, ragged, spend
from copyfit.data.filters import FilterSection, fingerprint, objection, overlap
from copyfit.data.prepare import DataSection, prepare, prepare_with, train_tokenizers
from copyfit.data.prepared import PreparedData, Tokenizers, open_prepared
from copyfit.data.sample import sample_pairs
from copyfit.data.store import Store
from copyfit.environment import cores
from copyfit.errors import ConfigError, DataError
from copyfit.text.automata import cost_automaton
from copyfit.text.automaton import FIRST_PIECE
from copyfit.text.tokenizer import SourceSection
from copyfit.text.units import UNITS, count
from copyfit.text.vocabulary import TargetSection

SOURCE = SourceSection.model_validate({"size": 300})
CHARACTERS = TargetSection.model_validate({"minimum": 1})
SUBWORDS = TargetSection.model_validate({"kind": "subword", "size": 120, "minimum": 1})
WORDS = [
    "bridge",
    "river",
    "mayor",
    "opens",
    "closed",
    "after",
    "storm",
    "Zürich",
    "two",
    "years",
    "éclair",
    "42",
]

Rows = Sequence[tuple[str, ...]]


def invented(number: int, *, seed: int = 0) -> list[tuple[str, str]]:
    """Invent pairs whose sources all differ."""
    draw = random.Random(seed)
    return [
        (
            f"{' '.join(draw.choices(WORDS, k=12))} no. {seed}-{row}",
            " ".join(draw.choices(WORDS, k=draw.randint(1, 6))),
        )
        for row in range(number)
    ]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, Rows], str]:
    def write_rows(name: str, rows: Rows) -> str:
        path = tmp_path / name
        path.write_text("".join("\t".join(row) + "\n" for row in rows))
        return str(path)

    return write_rows


def texts_of(data: PreparedData, store: Store, segmentation: int = 0) -> list[tuple[str, str]]:
    pairs = store.pairs
    return [
        (
            data.tokenizers.source.decode(pairs.sources.row(int(pairs.source_of[pair])).tolist()),
            data.tokenizers.target.decode(pairs.targets[segmentation].row(pair).tolist()),
        )
        for pair in range(len(pairs))
    ]


def ascii_tokenizers(write: Callable[[str, Rows], str]) -> Tokenizers:
    """Train on what has no other characters than these."""
    row = ("the river bridge", "abcdefghijklmnopqrstuvwxyz 0123456789")
    return train_tokenizers(DataSection(train=(write("ascii.tsv", [row]),)), SOURCE, CHARACTERS)


def silent(_: str) -> None:
    """Hear nothing."""


@pytest.mark.parametrize("target", [CHARACTERS, SUBWORDS])
def test_stores_give_back_the_texts_and_their_counts(
    tmp_path: Path, write: Callable[[str, Rows], str], target: TargetSection
) -> None:
    train, validation = invented(60), invented(20, seed=1)
    section = DataSection(
        train=(write("a.tsv", train[:40]), write("b.tsv", train[40:])),
        validation=(write("v.tsv", validation),),
    )
    data = prepare(section, SOURCE, target, tmp_path / "out")
    assert texts_of(data, data.train) == train
    assert data.validation
    assert texts_of(data, data.validation) == validation
    assert data.train.pairs.budgets.tolist() == [len(text) for _, text in train]
    assert data.train.manifest.dropped == {}
    assert data.train.manifest.natural_length == int(np.median([len(text) for _, text in train]))


@pytest.mark.parametrize("unit", UNITS)
def test_costs_add_up_to_the_count_in_every_unit(
    tmp_path: Path, write: Callable[[str, Rows], str], unit: str
) -> None:
    targets = ["storm 42", "Zürich €", "éclair 橋 two", "ﬁn 🎈 opens", "a"]
    rows = [(f"source {number}", text) for number, text in enumerate(targets)]
    section = DataSection(train=(write("a.tsv", rows),), unit=unit, segmentations=2, dropout=0.5)
    data = prepare(section, SOURCE, SUBWORDS, tmp_path / "out")
    pairs = data.train.pairs
    assert pairs.budgets.tolist() == [count(text, unit) for text in targets]
    for segmentation, (variant, costs) in enumerate(zip(pairs.targets, pairs.costs, strict=True)):
        sums = [int(part.sum()) for part in np.split(costs, variant.offsets[1:-1])]
        assert sums == pairs.budgets.tolist()
        assert [text for _, text in texts_of(data, data.train, segmentation)] == targets


@given(
    st.lists(st.lists(st.integers(0, 12), max_size=8), max_size=12), st.sampled_from(["char", "word", "byte"])
)
def test_walking_all_targets_at_once_is_walking_them_one_by_one(rows: list[list[int]], unit: str) -> None:
    automaton = cost_automaton([" ", "a", "é", " b", "cd", "x y", " €", "1", "-"], unit, prefixed=True)
    tokens = [[FIRST_PIECE + token for token in row if token < 9] for row in rows]
    targets = ragged(tokens, np.uint16)
    costs, budgets = spend(targets, automaton)
    for row, (ids, budget) in enumerate(zip(tokens, budgets.tolist(), strict=True)):
        try:
            consumed = automaton.spend(ids)
        except ValueError:
            assert budget == UNWRITABLE
            continue
        state = automaton.start
        for token in ids:
            state = int(automaton.next_state[state, token])
        assert budget == (consumed[-1] if automaton.accepts[state] else UNWRITABLE)
        start, stop = targets.offsets[row : row + 2]
        assert costs[start:stop].tolist() == np.diff(consumed).tolist()


def test_sampled_segmentations_differ_and_spell_the_same(
    tmp_path: Path, write: Callable[[str, Rows], str]
) -> None:
    section = DataSection(train=(write("a.tsv", invented(80)),), segmentations=2, dropout=0.4)
    data = prepare(section, SOURCE, SUBWORDS, tmp_path / "out")
    canonical, *sampled = (texts_of(data, data.train, segmentation) for segmentation in range(3))
    assert canonical == sampled[0] == sampled[1]
    lengths = [variant.lengths().tolist() for variant in data.train.pairs.targets]
    assert lengths[0] != lengths[1] != lengths[2] != lengths[0]
    assert len(prepare(section, SOURCE, CHARACTERS, tmp_path / "characters").train.pairs.targets) == 1


def test_a_sampled_segmentation_that_is_too_long_gives_way_to_the_canonical_one(
    tmp_path: Path, write: Callable[[str, Rows], str]
) -> None:
    rows = [(f"source {number}", "closed after storm") for number in range(40)]
    files = (write("a.tsv", rows),)
    longest = prepare(
        DataSection(train=files), SOURCE, SUBWORDS, tmp_path / "out"
    ).train.manifest.longest_target
    section = DataSection(train=files, segmentations=1, dropout=0.9, longest_target=longest)
    variants = prepare(section, SOURCE, SUBWORDS, tmp_path / "short").train.pairs.targets
    assert variants[1].lengths().max() <= longest


def test_the_outcome_does_not_depend_on_the_number_of_workers(
    tmp_path: Path, write: Callable[[str, Rows], str]
) -> None:
    rows: Rows = [*invented(4 * BLOCK_ROWS), ("no tab",), *invented(900, seed=2), *invented(100)]
    path = write("a.tsv", rows)
    tokenizers = train_tokenizers(DataSection(train=(write("b.tsv", invented(300)),)), SOURCE, SUBWORDS)
    told: dict[int, list[str]] = {1: [], 2: []}
    for workers, lines in told.items():
        section = DataSection(train=(path,), workers=workers, on_bad_line="skip", segmentations=1)
        prepare_with(section, tokenizers, tmp_path / str(workers), tell=lines.append)
    names = [file.relative_to(tmp_path / "1") for file in (tmp_path / "1").rglob("*") if file.is_file()]
    assert len(names) > 10
    for name in names:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
    assert (
        told[1]
        == told[2]
        == [f"skipped {path}:{4 * BLOCK_ROWS + 1}: a tab must divide the source from the target"]
    )
    assert open_prepared(tmp_path / "2").train.manifest.dropped == {"bad_line": 1, "duplicate": 100}


def test_everything_that_is_dropped_is_counted_by_its_reason(
    tmp_path: Path, write: Callable[[str, Rows], str]
) -> None:
    validation = [("kept out of training", "out of")]
    train = [
        ("the river bridge", "bridge"),
        ("the river bridge", "bridge"),
        ("the river bridge", "river"),
        ("kept out of training", "training"),
        ("x", "too short a source"),
        ("a target that is much too long", "training " * 9),
        ("the mayor opens it", "nothing alike"),
        ("many tokens: 4242424242", "4242424242"),
        ("seven is left out: seventh", "seventh"),
        ("an outsider: naïve", "naïve"),
    ]
    section = DataSection(
        train=(write("a.tsv", train),),
        validation=(write("v.tsv", validation),),
        filters=FilterSection(source_characters=(2, 99), target_characters=(1, 40), overlap=0.5),
        longest_target=9,
        leave_out_lengths=(7,),
    )
    data = prepare_with(section, ascii_tokenizers(write), tmp_path / "out")
    assert [text for _, text in texts_of(data, data.train)] == ["bridge", "river"]
    assert data.train.manifest.dropped == {
        "duplicate": 1,
        "held_out": 1,
        "left_out": 1,
        "outside_vocabulary": 1,
        "overlap": 1,
        "source_characters": 1,
        "target_characters": 1,
        "target_tokens": 1,
    }
    reads = {account.part: account.read for account in data.accounts()}
    assert reads == {"train": len(train), "validation": len(validation), "total": len(train + validation)}
    lines = table(data.accounts())
    assert all(any(REASONS[reason] in line for line in lines) for reason in data.train.manifest.dropped)


def test_lengths_left_out_of_training_stay_in_validation(
    tmp_path: Path, write: Callable[[str, Rows], str]
) -> None:
    rows = [(f"source {number}", "m" * (number % 5 + 3)) for number in range(50)]
    others = [(f"{source} b", target) for source, target in rows]
    section = DataSection(
        train=(write("a.tsv", rows),), validation=(write("v.tsv", others),), leave_out_lengths=(4, 6)
    )
    data = prepare(section, SOURCE, CHARACTERS, tmp_path / "out")
    assert data.validation
    assert set(data.train.pairs.budgets.tolist()) == {3, 5, 7}
    assert set(data.validation.pairs.budgets.tolist()) == {3, 4, 5, 6, 7}
    assert data.train.manifest.dropped == {"left_out": 20}


def test_several_targets_of_one_source_are_pairs_that_share_it(
    tmp_path: Path, write: Callable[[str, Rows], str]
) -> None:
    records = [
        {"source": "the river bridge", "targets": ["bridge", "river bridge", "☃"]},
        {"source": "the storm", "target": "storm"},
        {"source": "gone", "target": "☃"},
    ]
    path = write("a.jsonl", [(json.dumps(record),) for record in records])
    section = DataSection(train=(path,), filters=FilterSection(duplicates="source"))
    data = prepare_with(section, ascii_tokenizers(write), tmp_path / "out")
    assert texts_of(data, data.train) == [
        ("the river bridge", "bridge"),
        ("the river bridge", "river bridge"),
        ("the storm", "storm"),
    ]
    assert data.train.pairs.source_of.tolist() == [0, 0, 1]
    assert data.train.manifest.sources == 2
    shape = fit_shape(BatchSection(target_tokens=64), data.train)
    assert len(BatchPlan(data.train, shape, seed=1).epoch(0).packing.order) == 3


def test_a_source_repeated_in_the_next_line_is_stored_once(
    tmp_path: Path, write: Callable[[str, Rows], str]
) -> None:
    rows = [
        ("the river bridge", "bridge"),
        ("the river bridge", "river bridge"),
        ("the storm", "storm"),
        ("the river bridge", "river"),
    ]
    path, tokenizers = write("a.tsv", rows), ascii_tokenizers(write)
    data = prepare_with(DataSection(train=(path,)), tokenizers, tmp_path / "out")
    assert texts_of(data, data.train) == rows
    assert data.train.pairs.source_of.tolist() == [0, 0, 1, 2]
    assert data.train.manifest.sources == 3
    section = DataSection(train=(path,), filters=FilterSection(duplicates="source"))
    data = prepare_with(section, tokenizers, tmp_path / "other")
    assert texts_of(data, data.train) == [rows[0], rows[2]]


def test_long_sources_are_cut_off_at_the_same_tokens_as_whole_ones(
    tmp_path: Path, write: Callable[[str, Rows], str]
) -> None:
    rows = [("storm " * 50, "storm"), ("éclair" * 50, "two")]
    section = DataSection(train=(write("a.tsv", rows),), longest_source=7)
    data = prepare(section, SOURCE, CHARACTERS, tmp_path / "out")
    whole = data.tokenizers.source.encode_batch([text.strip() for text, _ in rows])
    assert [data.train.pairs.sources.row(row).tolist() for row in range(2)] == [ids[:7] for ids in whole]


def test_words_of_the_training_targets_are_known_when_frequent(
    tmp_path: Path, write: Callable[[str, Rows], str]
) -> None:
    rows = [(f"source {number}", "often seldom" if number < 2 else "often") for number in range(9)]
    data = prepare(DataSection(train=(write("a.tsv", rows),)), SOURCE, CHARACTERS, tmp_path / "out")
    assert list(data.words) == ["often"]


def test_a_bad_line_ends_the_run_unless_it_is_to_be_skipped(
    tmp_path: Path, write: Callable[[str, Rows], str]
) -> None:
    path = write("a.tsv", [*invented(30), ("no tab",), *invented(5, seed=3)])
    with pytest.raises(DataError, match=r"a\.tsv:31: a tab must divide"):
        prepare(DataSection(train=(path,)), SOURCE, CHARACTERS, tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["a.tsv"]
    skipping = DataSection(train=(path,), on_bad_line="skip")
    data = prepare(skipping, SOURCE, CHARACTERS, tmp_path / "out", tell=silent)
    assert data.train.manifest.pairs == 35


def test_a_bad_line_that_the_tokenizers_did_not_see_is_found_too(
    tmp_path: Path, write: Callable[[str, Rows], str]
) -> None:
    tokenizers = train_tokenizers(DataSection(train=(write("a.tsv", invented(30)),)), SOURCE, CHARACTERS)
    section = DataSection(train=(write("b.tsv", [*invented(30), ("no tab",)]),))
    with pytest.raises(DataError, match=r"b\.tsv:31: a tab must divide"):
        prepare_with(section, tokenizers, tmp_path / "out")


def test_only_the_first_bad_lines_are_told_one_by_one(
    tmp_path: Path, write: Callable[[str, Rows], str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("a.tsv", [*invented(5), *[("bad",)] * 50])
    prepare(DataSection(train=(path,), on_bad_line="skip"), SOURCE, CHARACTERS, tmp_path / "out")
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 21
    assert told.err.splitlines()[-1] == "skipped 50 bad lines in all"


def test_nothing_left_is_a_users_error(tmp_path: Path, write: Callable[[str, Rows], str]) -> None:
    filters = FilterSection(target_characters=(500, 600))
    section = DataSection(train=(write("a.tsv", invented(5)),), filters=filters)
    with pytest.raises(DataError, match="at least one training pair must be sound and pass the filters"):
        prepare(section, SOURCE, CHARACTERS, tmp_path / "out")
    leaving = DataSection(train=section.train, leave_out_lengths=tuple(range(100)))
    with pytest.raises(DataError, match="at least one train pair must be left, all were dropped: 5 left_out"):
        prepare(leaving, SOURCE, CHARACTERS, tmp_path / "out")


@pytest.mark.parametrize("which", ["train", "validation"])
def test_a_missing_file_is_told_before_anything_is_done(
    tmp_path: Path, write: Callable[[str, Rows], str], which: str
) -> None:
    paths = {"train": (write("a.tsv", invented(5)),), which: (str(tmp_path / "missing.tsv"),)}
    with pytest.raises(DataError, match=r"missing\.tsv must be a readable file: No such file"):
        prepare(DataSection.model_validate(paths), SOURCE, CHARACTERS, tmp_path / "out")


def test_prepared_data_are_taken_as_they_are(tmp_path: Path, write: Callable[[str, Rows], str]) -> None:
    section = DataSection(train=(write("a.tsv", invented(30)),))
    first = prepare(section, SOURCE, CHARACTERS, tmp_path / "out")
    stamp = (first.path / "prepared.json").stat().st_mtime_ns
    again = prepare(section.model_copy(update={"workers": 3}), SOURCE, CHARACTERS, tmp_path / "out")
    assert texts_of(again, again.train) == texts_of(first, first.train)
    assert (first.path / "prepared.json").stat().st_mtime_ns == stamp
    reused = prepare_with(section, first.tokenizers, tmp_path / "with")
    prepare_with(section, first.tokenizers, tmp_path / "with")
    assert texts_of(reused, reused.train) == texts_of(first, first.train)


def test_data_of_another_recipe_or_of_changed_files_are_left_alone(
    tmp_path: Path, write: Callable[[str, Rows], str]
) -> None:
    section = DataSection(train=(write("a.tsv", invented(30)),))
    prepare(section, SOURCE, CHARACTERS, tmp_path / "out")
    for change in ({"unit": "byte"}, {"longest_source": 5}):
        with pytest.raises(DataError, match="holds data of another recipe"):
            prepare(section.model_copy(update=change), SOURCE, CHARACTERS, tmp_path / "out")
    with pytest.raises(DataError, match="holds data of another recipe"):
        prepare(section, SOURCE, SUBWORDS, tmp_path / "out")
    write("a.tsv", invented(29))
    with pytest.raises(DataError, match="holds data of another recipe or of other files"):
        prepare(section, SOURCE, CHARACTERS, tmp_path / "out")


def test_an_empty_folder_is_as_good_as_none(tmp_path: Path, write: Callable[[str, Rows], str]) -> None:
    (tmp_path / "out").mkdir()
    section = DataSection(train=(write("a.tsv", invented(30)),))
    assert prepare(section, SOURCE, CHARACTERS, tmp_path / "out").train.manifest.pairs == 30


def test_a_folder_of_something_else_is_refused(tmp_path: Path, write: Callable[[str, Rows], str]) -> None:
    section = DataSection(train=(write("a.tsv", invented(30)),))
    with pytest.raises(DataError, match="must be a folder of prepared data"):
        prepare(section, SOURCE, CHARACTERS, tmp_path)
    with pytest.raises(DataError, match="must be a folder of prepared data"):
        prepare(section, SOURCE, CHARACTERS, tmp_path / "a.tsv")


def test_a_changed_tokenizer_file_is_refused(tmp_path: Path, write: Callable[[str, Rows], str]) -> None:
    prepare(DataSection(train=(write("a.tsv", invented(30)),)), SOURCE, CHARACTERS, tmp_path / "out")
    path = tmp_path / "out" / "source_tokenizer.json"
    path.write_text(path.read_text() + " ")
    with pytest.raises(DataError, match=r"source_tokenizer\.json must be as it was written"):
        open_prepared(tmp_path / "out")


def test_the_manifest_names_unit_recipe_and_tokenizers(
    tmp_path: Path, write: Callable[[str, Rows], str]
) -> None:
    section = DataSection(train=(write("a.tsv", invented(30)),), unit="word")
    prepare(section, SOURCE, CHARACTERS, tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "train" / "manifest.json").read_text())
    assert manifest["unit"] == "word"
    assert set(manifest["tokenizers"]) == {"source", "target"}
    assert all(len(hashed) == 64 for hashed in (manifest["recipe"], *manifest["tokenizers"].values()))
    assert open_prepared(tmp_path / "out", verify=True).train.manifest.model_dump(mode="json") == manifest


def test_an_unknown_unit_is_told_with_the_closest_one() -> None:
    with pytest.raises(ConfigError, match=r"recipe: unit: .*did you mean 'char'"):
        check({"train": ["a.tsv"], "unit": "chra"}, DataSection, where="recipe")


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
