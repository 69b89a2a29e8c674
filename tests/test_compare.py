"""The paired bootstrap, against Perl's own random numbers, the normal distribution and plain cases."""

import json
import math
import random
from pathlib import Path
from statistics import NormalDist, fmean, stdev

import pytest

import support_rouge as original
from copyfit.cli.app import run
from copyfit.errors import DataError
from copyfit.evaluation.compare import Budgets, Comparison, Difference, compare
from copyfit.evaluation.rouge import METRICS, Rouge, Score

SCORER = Rouge(stem=False)
WORDS = ("storm", "school", "park", "owl", "ferry", "flood", "mayor", "town")


def texts(count: int, seed: int, *, share: float = 0.5, system: int = 0) -> tuple[list[str], list[list[str]]]:
    """Make up references by a seed and, for each system, texts that have about a share of their words."""
    draw = random.Random(seed)
    references = [draw.choices(WORDS, k=8) for _ in range(count)]
    draw = random.Random(1_000 * system + seed)
    written = [" ".join(word if draw.random() < share else "x" for word in words) for words in references]
    return written, [[" ".join(words)] for words in references]


def recalls(written: list[str], references: list[list[str]]) -> list[float]:
    return [item["R1"].recall for item in SCORER.score(written, references).items]


@pytest.mark.parametrize("items", [2, 23, 120])
def test_the_figures_are_those_of_resamples_that_perl_draws(items: int) -> None:
    first, references = texts(items, 1)
    second, _ = texts(items, 1, share=0.55)
    found = compare((first, second), references, SCORER).rouge["R1"]["recall"]
    before, after = recalls(first, references), recalls(second, references)
    by_name = sorted(range(items), key=lambda index: str(index + 1))
    means = original.resampled_means([after[index] - before[index] for index in by_name])
    mean = fmean(means)
    assert found.difference == pytest.approx(mean, abs=2e-5)
    assert found.difference == pytest.approx(found.second - found.first, abs=1e-9)
    assert found.wins == pytest.approx(sum(value > 1e-9 for value in means) / 1_000, abs=1e-9)
    as_far = sum(abs(value - mean) >= abs(mean) - 1e-9 for value in means)
    assert found.p == pytest.approx((as_far + 1) / 1_001, abs=2e-3)
    ranked = sorted(means)
    assert ranked[24] - 1e-5 <= found.low <= ranked[26] + 1e-5
    assert ranked[973] - 1e-5 <= found.high <= ranked[975] + 1e-5


def test_systems_are_shown_with_what_rouge_prints_for_each() -> None:
    first, references = texts(30, 2)
    second, _ = texts(30, 2, share=0.7)
    comparison = compare((first, second), references, SCORER)
    for name, written in (("first", first), ("second", second)):
        averages = SCORER.score(written, references).averages
        for metric in METRICS:
            for value in Score._fields:
                found = getattr(comparison.rouge[metric][value], name)
                assert found == getattr(averages[metric], value)


def everything(comparison: Comparison) -> list[Difference]:
    scores = [difference for values in comparison.rouge.values() for difference in values.values()]
    return [*scores, *(comparison.length_error or {}).values()]


def test_a_system_does_not_differ_from_itself() -> None:
    written, references = texts(40, 3)
    found = everything(compare((written, written), references, SCORER, budgets=Budgets(20, "char")))
    assert len(found) == 13
    assert {each[2:] for each in found} == {(0, 0, 0, 0, 1)}
    assert all(each.first == each.second for each in found)


def test_a_clear_winner_wins_every_resample() -> None:
    first, references = texts(40, 4, share=0.2)
    second, _ = texts(40, 4, share=0.9)
    for each in everything(compare((first, second), references, SCORER)):
        assert each.wins == 1
        assert each.p == round(1 / 1_001, 5)
        assert 0 < each.low < each.difference < each.high


def test_the_other_way_round_all_differences_change_their_signs() -> None:
    first, references = texts(40, 5, share=0.45)
    second, _ = texts(40, 5, share=0.5)
    budgets = Budgets("reference", "byte")
    there = everything(compare((first, second), references, SCORER, budgets=budgets))
    back = everything(compare((second, first), references, SCORER, budgets=budgets))
    for one, other in zip(there, back, strict=True):
        assert (one.first, one.second, one.difference) == (other.second, other.first, -other.difference)
        assert one.low == pytest.approx(-other.high, abs=2e-3 + 0.02 * abs(one.low))
        assert one.wins + other.wins <= 1
        assert one.p == other.p


def test_nearer_to_the_budget_is_better() -> None:
    references = [["one two three"]] * 30
    near, far = ["1234567890", "123456789"] * 15, ["123456789012345", "1234567"] * 15
    found = compare((far, near), references, SCORER, budgets=Budgets(10, "char")).length_error
    assert found is not None
    assert (found["variance"].first, found["variance"].second) == ((25 + 9) / 2, 1 / 2)
    assert (found["mean_absolute"].first, found["mean_absolute"].second) == (4, 0.5)
    assert (found["exact"].first, found["exact"].second) == (0, 0.5)
    assert (found["within"].first, found["within"].second) == (0.5, 1)
    assert [found[name].wins for name in ("variance", "mean_absolute", "exact", "within")] == [1, 1, 1, 1]
    assert found["variance"].difference == -16.5


def test_lengths_are_compared_in_any_unit_and_with_those_of_references() -> None:
    first, second, references = ["大雨", "park"], ["雨", "parks"], [["大雨", "x"], ["park"]]
    found = compare((first, second), references, SCORER, budgets=Budgets("reference", "byte")).length_error
    assert found is not None
    assert found["mean_absolute"][:2] == (0, (3 + 1) / 2)
    cells = compare((first, second), references, SCORER, budgets=Budgets(4, "cell"))
    assert cells.length_error is not None
    assert cells.length_error["exact"][:2] == (1, 0)
    assert cells.signature.startswith("length:4|unit:cell|ROUGE-1.5.5|")
    assert cells.signature.endswith("|paired bootstrap")


def test_chances_and_limits_are_those_of_the_normal_distribution_for_many_items() -> None:
    for seed in range(6):
        first, references = texts(300, seed, share=0.5)
        second, _ = texts(300, seed, system=1)
        gains = [b - a for a, b in zip(recalls(first, references), recalls(second, references), strict=True)]
        error = stdev(gains) / math.sqrt(len(gains))
        found = compare((first, second), references, SCORER).rouge["R1"]["recall"]
        assert found.p == pytest.approx(2 * NormalDist().cdf(-abs(fmean(gains)) / error), abs=0.06)
        assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.12)
        assert found.wins == pytest.approx(NormalDist().cdf(fmean(gains) / error), abs=0.06)


def test_systems_of_unlike_size_are_refused() -> None:
    with pytest.raises(DataError):
        compare((["a", "b"], ["a"]), [["a"], ["b"]], SCORER)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    first, references = texts(20, 6)
    second, _ = texts(20, 6, share=0.8)
    contents = {"first": first, "second": second, "references": [each for (each,) in references]}
    for name, lines in contents.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    paths = {name: str(tmp_path / name) for name in contents}
    return [
        *("compare", "--hypotheses", paths["first"], "--hypotheses", paths["second"]),
        *("--references", paths["references"]),
    ]


def test_the_command_prints_what_the_library_gives(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--stem", "--limit-bytes", "30", "--formula", "best", "--confidence", "90"]
    assert run([*files, *flags, "--length", "30", "--unit", "byte", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    first, references = texts(20, 6)
    second, _ = texts(20, 6, share=0.8)
    scorer = Rouge(limit_bytes=30, formula="best", confidence=90)
    expected = compare((first, second), references, scorer, budgets=Budgets(30, "byte")).to_json()
    assert printed == {**expected, "hypotheses": [files[2], files[4]]}
    assert set(printed["R1"]["recall"]) == set(Difference._fields)
    assert set(printed) == {"R1", "R2", "RL", "length_error", "n", "signature", "hypotheses"}
    assert run([*files, "--json"]) == 0
    assert "length_error" not in json.loads(capsys.readouterr().out)


def test_the_command_shows_people_a_line_for_each_measure(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*files, "--length", "reference"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:24].strip() for line in lines[1:5]] == ["R1 recall", "R1 precision", "R1 f1", "R2 recall"]
    assert len(lines) == 1 + 9 + 4 + 1
    assert lines[-1].startswith("20 items, length:reference|unit:char|ROUGE-1.5.5|")


def test_the_command_refuses_what_cannot_be_compared(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "short").write_text("one\n")
    short = [str(tmp_path / "short") if part == files[4] else part for part in files]
    for arguments, told in (
        ([*files, "--hypotheses", files[2]], "give --hypotheses twice"),
        (files[:3] + files[5:], "give --hypotheses twice"),
        (short, "must have a line for each of the 20 hypotheses"),
        ([*files, "--length", "long"], "'long'"),
        ([*files, "--length", "9", "--unit", "cells"], "'cells'"),
        ([*files, "--ja", "--stem"], "stems"),
    ):
        assert run(arguments) == 2
        captured = capsys.readouterr()
        assert (captured.out, captured.err.count("\n")) == ("", 1)
        assert told in captured.err
