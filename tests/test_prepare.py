"""From files to stores: what is kept, what is dropped and why, and that nothing depends on the workers."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.data.accounts import REASONS, table
from copyfit.data.batches import BatchPlan, BatchSection, fit_shape
from copyfit.data.corpus import BLOCK_ROWS
from copyfit.data.encode import UNWRITABLE, ragged, spend
from copyfit.data.filters import FilterSection
from copyfit.data.prepare import DataSection, prepare, prepare_with, train_tokenizers
from copyfit.data.prepared import Tokenizers, open_prepared
from copyfit.errors import DataError
from copyfit.text.automata import cost_automaton
from copyfit.text.automaton import FIRST_PIECE
from copyfit.text.units import UNITS, count
from copyfit.text.vocabulary import TargetSection
from support_prepare import CHARACTERS, SOURCE, SUBWORDS, Rows, invented, texts_of


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, Rows], str]:
    def write_rows(name: str, rows: Rows) -> str:
        path = tmp_path / name
        path.write_text("".join("\t".join(row) + "\n" for row in rows))
        return str(path)

    return write_rows


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
