"""ROUGE against the script behind every published figure, run on texts made to be hard."""

import random
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ipadic
import pytest
from fugashi import GenericTagger

import support_rouge as original
from copyfit.errors import ConfigError, DataError
from copyfit.evaluation.rouge import METRICS, Rouge, RougeResult, Score, split_words
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
    (["-m", "-l", "7", "-f", "B"], {"limit_words": 7, "formula": "best"}),
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


@pytest.mark.parametrize(("options", "settings"), FOUR_SETS)
def test_scores_against_one_reference_equal_the_original_script(
    script: Path, options: list[str], settings: dict[str, Any]
) -> None:
    assert_equal_to_the_script(script, options, settings, original.hard_items(40, references=1, seed=5))


@pytest.mark.parametrize("formula", ["average", "best"])
def test_items_may_differ_in_their_number_of_references(script: Path, formula: str) -> None:
    hypotheses, references = original.hard_items(30, references=3, seed=3)
    uneven = [texts[: 1 + index % 3] for index, texts in enumerate(references)]
    options = ["-m", "-f", "A" if formula == "average" else "B"]
    assert_equal_to_the_script(script, options, {"formula": formula}, (hypotheses, uneven))


def test_a_single_item_can_be_scored(script: Path) -> None:
    assert_equal_to_the_script(script, ["-m"], {}, (["Two dogs bark"], [["A dog barks twice"]]))


def scored(
    script: Path, item: tuple[str, list[str]], options: Sequence[str] = (), **settings: Any
) -> Mapping[str, Score]:
    """Score one item, after seeing that the script gives the same."""
    texts = [item[0]], [item[1]]
    assert_equal_to_the_script(script, list(options), {"stem": False} | settings, texts)
    return Rouge(**({"stem": False} | settings)).score(*texts).items[0]


def test_trap_1_a_byte_limit_cuts_references_too_and_before_words_are_found(script: Path) -> None:
    reference = f"{'storm ' * 12}owlets"
    limited = scored(script, ("storm owl", [reference]), ["-b", "75"], limit_bytes=75)
    # 72 bytes are twelve storms; the 75th byte is the l of owlets.
    assert limited["R1"] == (round(2 / 13, 5), 1, 0.26667)
    assert scored(script, ("storm owl", [reference]))["R1"].recall == round(1 / 13, 5)
    # The limit falls within the two bytes of é.
    assert scored(script, ("naé5", ["na naé5"]), ["-b", "3"], limit_bytes=3)["R1"] == (1, 1, 1)


def test_trap_2_words_are_runs_of_ascii_letters_and_digits(script: Path) -> None:
    for left, right in (("X-Ray -5", "x ray 5"), ("don't", "DON T"), ("U.S.", "u s"), ("ÀB cÉd", "b c d")):
        assert scored(script, (left, [right]))["R2" if " " in right else "R1"] == (1, 1, 1)
    assert scored(script, ("- – --", ["owl - – --"]))["R1"] == (0, 0, 0)
    assert scored(script, ("À東", ["à東"]))["R1"] == (0, 0, 0)
    assert split_words("naïve — e-mail 3.14".lower().encode()) == ["na", "ve", "e", "mail", "3", "14"]


def test_trap_3_stems_are_those_of_the_script_for_words_of_more_than_three_letters(script: Path) -> None:
    for left, right in (("argument", "argum"), ("ran", "run"), ("gas", "ga"), ("running", "runs")):
        same = stem(left) == stem(right)
        assert scored(script, (left, [right]), ["-m"], stem=True)["R1"].f1 == same
    assert [stem(word) for word in ("argument", "ran", "gas")] == ["argum", "ran", "gas"]


def test_trap_4_the_table_of_irregular_forms_is_not_empty(script: Path) -> None:
    assert len(original.table(script)) == len(irregular_forms()) == 5_930
    assert scored(script, ("better", ["best well"]), ["-m"], stem=True)["R1"].precision == 1
    assert scored(script, ("went", ["go"]), ["-m"], stem=True)["R1"] == (1, 1, 1)


def test_trap_5_references_are_pooled_or_the_best_is_taken_and_none_is_left_out(script: Path) -> None:
    item = "a b c", ["a b", "c d e f"]
    # Leaving out each reference in turn would give (1 + 1/4) / 2.
    assert scored(script, item)["R1"].recall == round((2 + 1) / (2 + 4), 5)
    assert scored(script, item, ["-f", "B"], formula="best")["R1"].recall == 1


def test_trap_6_averages_are_means_of_rounded_scores_in_resamples_drawn_as_perl_draws(script: Path) -> None:
    texts = original.hard_items(23, references=2, seed=6)
    result = Rouge().score(*texts)
    by_name = sorted(range(23), key=lambda index: str(index + 1))
    recalls = [float(f"{result.items[index]['R1'].recall:.5f}") for index in by_name]
    means = original.resampled_means(recalls)
    assert len(means) == 1_000
    assert result.averages["R1"].recall == round(sum(sorted(means)) / 1_000, 5)
    assert_equal_to_the_script(script, ["-m"], {}, texts)


def test_trap_7_rouge_l_unites_the_sequences_of_a_sentence_and_pools_references(script: Path) -> None:
    hypothesis, sentence = "w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5", "w1 w2 w3 w4 w5"
    # w1 w2 with the first sentence, w1 w3 w5 with the second one.
    assert scored(script, (hypothesis, [sentence]))["RL"].recall == round(4 / 5, 5)
    assert scored(script, (hypothesis, [sentence, "w9 w5 w5"]))["RL"].recall == round((4 + 2) / (5 + 3), 5)
    assert scored(script, (hypothesis, [f"{sentence}\nw6 w9"]))["RL"].recall == round((4 + 2) / 7, 5)


def test_without_perl_the_tests_fail_and_are_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="needs perl with DB_File"):
        original.install(tmp_path)


def japanese_items(count: int, seed: int) -> tuple[list[str], list[list[str]]]:
    """Make up texts of two sentences that share many words."""
    draw = random.Random(seed)
    phrases = [
        "大雨で",
        "電車が",
        "止まって",
        "学校は",
        "休みに",
        "なった",
        "IBM社が",
        "12人の",
        "、",
        "新橋駅",
    ]

    def text() -> str:
        return "\n".join("".join(draw.choices(phrases, k=draw.randint(0, 7))) for _ in range(2))

    return [text() for _ in range(count)], [[text() for _ in range(3)] for _ in range(count)]


def numbered(texts: Sequence[str], numbers: dict[str, int]) -> list[str]:
    """Write a number for each word that MeCab finds, by the library itself."""
    tagger = GenericTagger(f"{ipadic.MECAB_ARGS} -Owakati")
    lines = [[tagger.parse(line).split() for line in text.split("\n")] for text in texts]
    return [
        "\n".join(" ".join(str(numbers.setdefault(word, len(numbers))) for word in line) for line in text)
        for text in lines
    ]


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ([], {}),
        (["-f", "B"], {"formula": "best"}),
        (["-l", "5"], {"limit_words": 5}),
        ([], {"limit_characters": 13}),
    ],
)
def test_japanese_scores_equal_the_script_s_with_numbers_for_words(
    script: Path, options: list[str], settings: dict[str, Any]
) -> None:
    hypotheses, references = japanese_items(40, seed=7)
    numbers: dict[str, int] = {}
    cut = [text[: settings.get("limit_characters")] for text in hypotheses]
    expected = original.score(
        script, options, numbered(cut, numbers), [numbered(texts, numbers) for texts in references]
    )
    found = Rouge(stem=False, words="mecab", **settings).score(hypotheses, references)
    assert printed(found) == expected
    assert max(scores["R2"].f1 for scores in found.items) > 0.3


def test_a_limit_in_characters_cuts_hypotheses_only(script: Path) -> None:
    hypotheses, references = original.hard_items(30, references=2, seed=8)
    cut = [unicodedata.normalize("NFC", text)[:30] for text in hypotheses]
    expected = original.score(script, ["-m"], cut, references)
    assert printed(Rouge(limit_characters=30).score(hypotheses, references)) == expected
    assert Rouge(limit_characters=1).score(["e\u0301b"], [["b"]]).items[0]["R1"].recall == 0


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
        {"limit_characters": 75},
        {"stem": False, "words": "mecab"},
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
        {"limit_characters": 0},
        {"limit_characters": 9, "limit_words": 9},
        {"words": "kanji"},
        {"words": "mecab"},
        {"words": "mecab", "stem": False, "limit_bytes": 9},
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
