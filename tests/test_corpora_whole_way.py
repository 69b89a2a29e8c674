"""From the files of owners by the command to what prepares and evaluates, in one go each."""

import json
import random
from pathlib import Path

import pytest

from copyfit.cli.app import run
from copyfit.data.corpus import read_pairs
from support_cli import Output
from support_corpora import as_csv, convert, report_of, write, write_document, write_lines, write_summaries
from support_writing import TEXTS, save_tiny

RECIPE = """
name = "corpus"
[data]
train = ["{folder}/train.tsv"]
validation = ["{folder}/validation.tsv"]
workers = 1
[source]
size = 300
[target]
minimum = 1
[training]
steps = 1
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny(tmp_path_factory.mktemp("model") / "tiny"))


def evaluated(model: str, data: Path, capsys: Output, *flags: str) -> int:
    """Evaluate and return how many were."""
    capsys.readouterr()
    search = ("--num-beams", "1", "--mode", "max")
    assert run(["evaluate", "--model", model, "--data", str(data), *search, *flags, "--json"]) == 0
    number: int = json.loads(capsys.readouterr().out)["n"]
    return number


def prepared(folder: Path, capsys: Output) -> dict[str, dict[str, int]]:
    recipe = write(folder.with_suffix(".toml"), RECIPE.format(folder=folder))
    capsys.readouterr()
    assert run(["prepare", str(recipe), "--output", str(folder.with_suffix(".data")), "--json"]) == 0
    parts: dict[str, dict[str, int]] = json.loads(capsys.readouterr().out)
    return parts


def test_gigaword_all_the_way(model: str, tmp_path: Path, capsys: Output) -> None:
    draw = random.Random(1)
    words = " ".join(TEXTS).lower().split()
    for part, ending in (("train", ""), ("valid", ".filter"), ("test", "")):
        rows = [(draw.choices(words, k=20), draw.choices(words, k=draw.randint(2, 11))) for _ in range(60)]
        for side, name in enumerate(("article", "title")):
            write_lines(tmp_path / "in" / f"{part}.{name}{ending}.txt", [" ".join(row[side]) for row in rows])
    folder = tmp_path / "out"
    assert convert("gigaword", [tmp_path / "in"], folder, "--sample", "5") == 0
    assert report_of(folder)["files"] == {
        "train.tsv": 60,
        "validation.tsv": 60,
        **{f"test-{length}.jsonl": 5 for length in (30, 50, 75)},
    }
    parts = prepared(folder, capsys)
    assert (parts["train"]["read"], parts["validation"]["read"]) == (60, 60)
    for length in (30, 50, 75):
        data = folder / f"test-{length}.jsonl"
        assert evaluated(model, data, capsys, "--length", str(length), "--limit-bytes", str(length)) == 5


def test_duc_all_the_way(model: str, tmp_path: Path, capsys: Output) -> None:
    docs, models = tmp_path / "docs", tmp_path / "models"
    for number, text in enumerate(TEXTS[:3]):
        write_document(docs, "d30001t", f"APW19981016.000{number}", f"<P>\n{text} It ended.\n</P>")
        summaries = [f"{text.split()[place]} headline" for place in range(4)]
        write_summaries(models, "D30001", f"APW19981016.000{number}", summaries)
    assert convert("duc", [docs, models], tmp_path / "out") == 0
    data = tmp_path / "out" / "test-75.jsonl"
    pairs = list(read_pairs([str(data)]))
    assert [len(pair.targets) for pair in pairs] == [4, 4, 4]
    assert evaluated(model, data, capsys, "--length", "75", "--unit", "byte", "--limit-bytes", "75") == 3


def test_jnc_and_jamul_all_the_way(model: str, tmp_path: Path, capsys: Output) -> None:
    records = [
        {"kijiid": f"A{number:03}", "kiji": [f"港に{number}隻の船が着いた。"], "midashi": f"船着く{number}隻"}
        for number in range(100)
    ]
    lines = write_lines(tmp_path / "jnc.json", [json.dumps(record) for record in records])
    assert convert("jnc", [lines], tmp_path / "jnc") == 0
    parts = prepared(tmp_path / "jnc", capsys)
    assert (parts["train"]["read"], parts["validation"]["read"]) == (98, 1)
    assert evaluated(model, tmp_path / "jnc" / "test.jsonl", capsys, "--length", "9") == 1
    row = [
        "大型の台風が港を閉鎖した。鉄道も停止した。",
        "紙",
        "大型の台風で港が閉鎖、鉄道も停止と発表があったとのこと",
    ]
    row += ["台風で港閉鎖、鉄道も停止", "台風で港閉鎖鉄道停止"]
    header = ["article", "paper", "26", "13", "10"]
    path = write(tmp_path / "JAMUL.csv", as_csv([header, row]))
    assert convert("jamul", [path], tmp_path / "jamul") == 0
    for length in (10, 13, 26):
        data = tmp_path / "jamul" / f"test-{length}.jsonl"
        assert evaluated(model, data, capsys, "--length", str(length)) == 1
