"""The commands `rouge` and `evaluate`, run as the shell runs them."""

import gzip
import json
from pathlib import Path

import pytest

from copyfit.cli.app import run
from copyfit.evaluation.rouge import Rouge
from copyfit.text.units import count
from copyfit.writing.writer import Options, Writer
from support_cli import complaint
from support_writing import TEXTS, save_tiny

HYPOTHESES = ["two dogs barked", "", "naïve owls – again"]
FIRST = ["a dog barks twice", "something", "owls"]
SECOND = ["dogs bark", "anything", "again the naïve owls"]
PAIRS = [
    (TEXTS[0], "storm shuts old schools"),
    (TEXTS[1], "mayor opens park"),
    (TEXTS[2], "ferries turn back"),
]


def lines(path: Path, texts: list[str]) -> str:
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return str(path)


@pytest.fixture
def scored(tmp_path: Path) -> list[str]:
    first, second = lines(tmp_path / "a.txt", FIRST), lines(tmp_path / "b.txt", SECOND)
    return [
        *("rouge", "--hypotheses", lines(tmp_path / "h.txt", HYPOTHESES)),
        *("--references", first, "--references", second),
    ]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny(tmp_path_factory.mktemp("model") / "tiny"))


@pytest.fixture
def data(tmp_path: Path) -> str:
    return lines(tmp_path / "pairs.tsv", ["\t".join(pair) for pair in PAIRS])


def refusal(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run(arguments) == 2
    return complaint(capsys)


def test_rouge_prints_what_the_library_gives(scored: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--stem", "--limit-bytes", "75", "--formula", "best", "--confidence", "90", "--json"]
    assert run([*scored, *flags]) == 0
    references = list(zip(FIRST, SECOND, strict=True))
    expected = Rouge(limit_bytes=75, formula="best", confidence=90).score(HYPOTHESES, references)
    assert json.loads(capsys.readouterr().out) == expected.to_json()


def test_rouge_does_not_stem_and_does_not_cut_unless_asked(
    scored: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*scored, "--json"]) == 0
    expected = Rouge(stem=False).score(HYPOTHESES, list(zip(FIRST, SECOND, strict=True)))
    assert json.loads(capsys.readouterr().out) == expected.to_json()


def test_rouge_for_people_is_a_small_table(scored: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*scored, "--limit-words", "3"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in table[1:4]] == ["R1", "R2", "RL"]
    assert table[4].startswith("3 items, ROUGE-1.5.5|")


def test_rouge_writes_the_scores_of_each_item(
    scored: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*scored, "--per-item", str(tmp_path / "items.jsonl"), "--json"]) == 0
    capsys.readouterr()
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    expected = Rouge(stem=False).score(HYPOTHESES, list(zip(FIRST, SECOND, strict=True))).items
    assert [item["index"] for item in items] == [0, 1, 2]
    for item, scores in zip(items, expected, strict=True):
        assert item["RL"] == dict(zip(("recall", "precision", "f1"), scores["RL"], strict=True))


def test_rouge_writes_items_to_standard_output_too(
    scored: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*scored, "--per-item", "-", "--json"]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line.get("index") for line in printed] == [0, 1, 2, None]


def test_rouge_names_a_file_with_too_few_lines(
    scored: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = lines(tmp_path / "short.txt", FIRST[:2])
    assert f"{short} must have a line for each of the 3" in refusal([*scored, "--references", short], capsys)


def test_rouge_refuses_what_cannot_be_used(
    scored: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "both" in refusal([*scored, "--limit-bytes", "5", "--limit-words", "5"], capsys)
    assert "'middle'" in refusal([*scored, "--formula", "middle"], capsys)
    assert "missing.txt" in refusal([*scored, "--references", str(tmp_path / "missing.txt")], capsys)
    assert "nowhere" in refusal([*scored, "--per-item", str(tmp_path / "nowhere" / "items")], capsys)
    (tmp_path / "latin.txt").write_bytes(b"one\n\xe9\nthree\n")
    assert "line 2" in refusal([*scored, "--references", str(tmp_path / "latin.txt")], capsys)


def test_evaluate_measures_the_model_s_headlines(
    model: str, data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "headlines.txt"
    flags = ["--length", "20", "--mode", "exact", "--output", str(output), "--json"]
    assert run(["evaluate", "--model", model, "--data", data, *flags]) == 0
    result = json.loads(capsys.readouterr().out)
    headlines = output.read_text(encoding="utf-8").splitlines()
    assert headlines == Writer(model)([source for source, _ in PAIRS], length=20)
    scores = Rouge().score(headlines, [[target] for _, target in PAIRS]).to_json()
    assert result["rouge"] == {metric: scores[metric] for metric in ("R1", "R2", "RL")}
    assert (result["n"], result["length"], result["unit"], result["mode"]) == (3, 20, "char", "exact")
    ends = ("", "_low", "_high")
    exact = {f"{name}{end}": 0 for name in ("variance", "mean_absolute") for end in ends}
    assert result["length_error"] == exact | {
        f"{name}{end}": 1 for name in ("exact", "within") for end in ends
    }


def test_evaluate_takes_the_lengths_of_references_when_no_length_is_given(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"source": source, "references": [target, "another"]} for source, target in PAIRS]
    with gzip.open(tmp_path / "pairs.jsonl.gz", "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    data, output = str(tmp_path / "pairs.jsonl.gz"), tmp_path / "headlines.txt"
    flags = ["--mode", "exact", "--unit", "byte", "--num-beams", "2", "--output", str(output)]
    assert run(["evaluate", "--model", model, "--data", data, *flags]) == 0
    headlines = output.read_text(encoding="utf-8").splitlines()
    assert [count(text, "byte") for text in headlines] == [count(target, "byte") for _, target in PAIRS]
    printed = capsys.readouterr().out
    assert "references:2" in printed
    assert "exact       100.0% (100.0%-100.0%)" in printed


def test_evaluate_takes_several_lengths_and_cuts_at_each(
    model: str, data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--length", "12", "--length", "20", "--limit-bytes", "length", "--num-beams", "2", "--json"]
    output = ["--output", str(tmp_path / "out-{length}.txt")]
    assert run(["evaluate", "--model", model, "--data", data, *flags, *output]) == 0
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [result["length"] for result in results] == [12, 20]
    for result in results:
        budget = result["length"]
        headlines = (tmp_path / f"out-{budget}.txt").read_text(encoding="utf-8").splitlines()
        scores = Rouge(limit_bytes=budget).score(headlines, [[target] for _, target in PAIRS])
        assert result["rouge"]["R1"] == scores.averages["R1"]._asdict()
        assert f"|limit:{budget} bytes|" in result["signature"]


def test_evaluate_searches_and_scores_as_its_flags_say(
    model: str, data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.txt"
    search = ["--rerank-once", "--no-repeat-ngram-size", "2", "--length", "14"]
    score = ["--no-stem", "--limit-words", "2", "--formula", "best", "--confidence", "90"]
    flags = [*search, *score, "--model", model, "--data", data, "--output", str(output), "--json"]
    assert run(["evaluate", "--model", model, *flags]) == 0
    result = json.loads(capsys.readouterr().out)
    sources, targets = [source for source, _ in PAIRS], [[target] for _, target in PAIRS]
    headlines = output.read_text(encoding="utf-8").splitlines()
    options: Options = {"mode": "free", "no_repeat_ngram_size": 2, "rerank": "once"}
    assert headlines == Writer([model, model])(sources, length=14, **options)
    rouge = Rouge(stem=False, limit_words=2, formula="best", confidence=90).score(headlines, targets)
    assert result["rouge"]["RL"] == rouge.averages["RL"]._asdict()
    assert result["signature"] == (
        "mode:free|length:14|unit:char|models:2|beams:20|rerank:once of 20|no-repeat:2|" + rouge.signature
    )


def test_japanese_words_are_scored_by_both_commands(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, source = "大雨で電車が止まる", "東京で大雨、電車が止まる。学校は休み"
    data = lines(tmp_path / "ja.tsv", [f"{source}\t{target}"])
    output = tmp_path / "out.txt"
    flags = ["--ja", "--length", "10", "--limit-characters", "length", "--output", str(output), "--json"]
    assert run(["evaluate", "--model", model, "--data", data, *flags]) == 0
    evaluated = json.loads(capsys.readouterr().out)
    references = lines(tmp_path / "r.txt", [target])
    files = ["--hypotheses", str(output), "--references", references]
    assert run(["rouge", *files, "--ja", "--limit-characters", "10", "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)
    assert evaluated["rouge"]["R1"] == scored["R1"]
    assert evaluated["signature"].endswith(scored["signature"])
    assert "|words:mecab+ipadic-" in scored["signature"]
    assert "|limit:10 characters of hypotheses|" in scored["signature"]
    assert run(["rouge", "--hypotheses", references, "--references", references, "--ja", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["R2"]["f1"] == 1
    assert "stems" in refusal(["rouge", *files, "--ja", "--stem"], capsys)


def test_evaluate_refuses_what_cannot_be_used(
    model: str, data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", "--model", model, "--data", data]
    assert "'long'" in refusal([*command, "--length", "long"], capsys)
    assert "given -3" in refusal([*command, "--length", "-3"], capsys)
    assert "cells" in refusal([*command, "--unit", "cells"], capsys)
    assert "limit" in refusal([*command, "--limit-bytes", "0"], capsys)
    assert "given 'length' and reference" in refusal([*command, "--limit-bytes", "length"], capsys)
    assert "given 'many'" in refusal([*command, "--limit-characters", "many"], capsys)
    assert "a limit in bytes" in refusal([*command, "--ja", "--limit-bytes", "9"], capsys)
    several = [*command, "--length", "8", "--length", "9", "--output", str(tmp_path / "out.txt")]
    assert "must have {length} in its name" in refusal(several, capsys)
    assert "nowhere" in refusal([*command, "--output", str(tmp_path / "nowhere" / "out")], capsys)
    broken = lines(tmp_path / "broken.tsv", ["one\ttwo", "no tab"])
    assert f"{broken}:2" in refusal(["evaluate", "--model", model, "--data", broken], capsys)


FULL = Path("/dev/full")
FULL_TOLD = "cannot write /dev/full: No space left on device"


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("items", [3, 300])
def test_a_full_disk_is_told_in_one_line_however_much_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], items: int
) -> None:
    texts = lines(tmp_path / "many.txt", ["two dogs barked"] * items)
    flags = ["--hypotheses", texts, "--references", texts, "--per-item", str(FULL)]
    assert FULL_TOLD in refusal(["rouge", *flags], capsys)


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
def test_a_full_disk_is_told_when_headlines_are_written(
    model: str, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--model", model, "--data", data, "--length", "9", "--num-beams", "1", "--output", str(FULL)]
    assert FULL_TOLD in refusal(["evaluate", *flags], capsys)
