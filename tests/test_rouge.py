"""ROUGE against the script behind every published figure, run on texts made to be hard."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import support_rouge as original
from copyfit.errors import ConfigError, DataError
from copyfit.evaluation.rouge import METRICS, Rouge, RougeResult
from copyfit.text.porter import irregular_forms, stem

FOUR_SETS: list[tuple[list[str], dict[str, Any]]] = [
    (["-m", "-b", "75"], {"limit_bytes": 75}),
    (["-m"], {}),
    (["-b", "75"], {"stem": False, "limit_bytes": 75}),
    (["-m", "-b", "75", "-f", "B"], {"limit_bytes": 75, "formula": "best"}),
]
OTHER_SETS: list[tuple[list[str], dict[str, Any]]] = [
    (["-l", "7"], {"stem": False, "limit_words": 7}),
    (["-m", "-l", "1"], {"limit_words": 1}),
    (["-b", "1"], {"stem": False, "limit_bytes": 1}),
    (["-f", "B"], {"stem": False, "formula": "best"}),
    (["-m", "-c", "99.9"], {"confidence": 99.9}),
    (["-c", "100"], {"stem": False, "confidence": 100}),
    (["-m", "-c", "0"], {"confidence": 0}),
    (["-m", "-c", "68.27", "-b", "40"], {"confidence": 68.27, "limit_bytes": 40}),
]


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return original.install(tmp_path_factory.mktemp("rouge"))


def printed(result: RougeResult) -> original.Printed:
    items = {
        (metric, index): tuple(f"{value:.5f}" for value in scores[metric])
        for index, scores in enumerate(result.items)
        for metric in METRICS
    }
    averages = {}
    for metric, average in result.averages.items():
        values = average._asdict()
        for letter, name in (("R", "recall"), ("P", "precision"), ("F", "f1")):
            three = (values[name], values[f"{name}_low"], values[f"{name}_high"])
            averages[metric, letter] = tuple(f"{value:.5f}" for value in three)
    return original.Printed(items, averages)


def assert_equal_to_the_script(
    script: Path,
    options: list[str],
    settings: dict[str, Any],
    texts: tuple[Sequence[str], Sequence[Sequence[str]]],
) -> int:
    expected = original.score(script, options, *texts)
    assert len(expected.items) == 3 * len(texts[0])
    assert len(expected.averages) == 9
    assert printed(Rouge(**settings).score(*texts)) == expected
    return len(expected.items)


@pytest.mark.parametrize(("options", "settings"), FOUR_SETS + OTHER_SETS)
def test_scores_and_confidence_limits_equal_the_original_script(
    script: Path, options: list[str], settings: dict[str, Any]
) -> None:
    assert_equal_to_the_script(script, options, settings, original.hard_items(60, references=4, seed=1))


@pytest.mark.long
def test_all_7200_item_lines_and_averages_of_600_items_equal_the_original_script(script: Path) -> None:
    texts = original.hard_items(600, references=4, seed=2)
    lines = [assert_equal_to_the_script(script, *options, texts) for options in FOUR_SETS]
    assert sum(lines) == 7_200


@pytest.mark.parametrize("formula", ["average", "best"])
def test_items_may_differ_in_their_number_of_references(script: Path, formula: str) -> None:
    hypotheses, references = original.hard_items(30, references=3, seed=3)
    uneven = [texts[: 1 + index % 3] for index, texts in enumerate(references)]
    options = ["-m", "-f", "A" if formula == "average" else "B"]
    assert_equal_to_the_script(script, options, {"formula": formula}, (hypotheses, uneven))


def test_a_single_item_can_be_scored(script: Path) -> None:
    assert_equal_to_the_script(script, ["-m"], {}, (["Two dogs bark"], [["A dog barks twice"]]))


def test_the_table_of_irregular_forms_is_the_script_s_own(script: Path) -> None:
    table = original.table(script)
    assert len(table) == 5_930
    assert irregular_forms() == table
    assert table["better"] == table["best"] == "well"


def test_stems_equal_the_script_s_on_hard_words_and_all_irregular_forms(script: Path) -> None:
    words = [word for word in original.hard_words(20_000, seed=4) if word.isalnum()] + [
        word for word in irregular_forms() if word.isalnum()
    ]
    text = "\n".join(words)
    listing = original.write_texts(script, [text], [[text]])
    output = original.run(script, listing, ["-n", "1", "-m", "-x", "-v"])
    grams = next(line for line in output.splitlines() if "|" in line).split("|")
    counted = dict(zip(grams[::2], map(int, grams[1::2]), strict=True))
    assert counted.pop("_cn_") == len(words)
    assert Counter(map(stem, words)) == counted


@pytest.mark.parametrize(
    ("word", "expected"), [("argument", "argum"), ("better", "well"), ("ran", "ran"), ("yelled", "yell")]
)
def test_words_are_stemmed_by_the_script_s_variant(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_recall_counts_what_a_reference_has_and_a_hypothesis_hits() -> None:
    item = Rouge(stem=False).score(["red cat runs"], [["the red dog and the cat"]]).items[0]
    assert item["R1"] == (0.33333, 0.66667, 0.44444)
    assert item["R2"] == (0, 0, 0)
    assert item["RL"] == (0.33333, 0.66667, 0.44444)


def test_the_result_as_plain_values_has_every_limit_the_count_and_the_signature() -> None:
    result = Rouge(limit_bytes=75).score(["one two", "three"], [["one"], ["four"]])
    plain = result.to_json()
    assert set(plain) == {"R1", "R2", "RL", "n", "signature"}
    names = {f"{name}{end}" for name in ("recall", "precision", "f1") for end in ("", "_low", "_high")}
    assert set(plain["R1"]) == names
    assert plain["n"] == 2
    assert plain["R1"]["recall_low"] <= plain["R1"]["recall"] <= plain["R1"]["recall_high"]


def test_signatures_differ_whenever_the_scores_may() -> None:
    settings: list[dict[str, Any]] = [
        {},
        {"stem": False},
        {"limit_bytes": 75},
        {"limit_words": 75},
        {"limit_bytes": 74},
        {"formula": "best"},
        {"confidence": 90},
    ]
    signatures = {Rouge(**setting).score(["a"], [["a", "b"]]).signature for setting in settings}
    signatures.add(Rouge().score(["a"], [["a"]]).signature)
    signatures.add(Rouge().score(["a", "b"], [["a"], ["a", "b"]]).signature)
    assert len(signatures) == len(settings) + 2


@pytest.mark.parametrize(
    "settings",
    [
        {"limit_bytes": 75, "limit_words": 10},
        {"limit_bytes": 0},
        {"limit_words": -1},
        {"formula": "worst"},
        {"confidence": 101},
    ],
)
def test_settings_that_cannot_be_used_are_refused_in_one_line(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"^[^\n]*given[^\n]*$"):
        Rouge(**settings)


@pytest.mark.parametrize(
    ("hypotheses", "references"), [([], []), (["a"], []), (["a", "b"], [["a"]]), (["a"], [[]])]
)
def test_counts_that_do_not_match_are_refused(hypotheses: list[str], references: list[list[str]]) -> None:
    with pytest.raises(DataError):
        Rouge().score(hypotheses, references)
