"""JNC and JAMUL: each rule of the paper's filters."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support_cli import Output, complaint
from support_corpora import (
    as_csv,
    convert,
    pairs_of,
    references_of,
    report_of,
    write,
    write_lines,
)


def jnc(path: Path, records: Sequence[dict[str, Any]]) -> Path:
    return write_lines(path, [json.dumps(record, ensure_ascii=False) for record in records])


def record(number: int, **changed: Any) -> dict[str, Any]:
    article = [f"第{number}号の船が港に着いた。", "乗客は無事だった。"]
    return {"kijiid": f"{number:05}", "kiji": article, "midashi": f"船、港に着く{number}", **changed}


def test_jnc_is_filtered_sorted_and_split(tmp_path: Path, capsys: Output) -> None:
    sound = [record(number) for number in range(200)]
    unsound = [
        record(300),
        record(301, kiji=record(300)["kiji"]),
        record(302, kiji="".join(record(300)["kiji"])),
        record(303, midashi="同じ見出し"),
        record(304, midashi="同じ見出し"),
        record(305, kiji="席は=あいている。"),
        record(306, kiji=["席は＝あいている。"], midashi="全角の記号は残る"),
        record(307, midashi="見出しの=は残る"),
        record(308, midashi="　"),
        record(309, kiji=[]),
        # A repeated article counts even where its other pair is dropped for another reason.
        record(310, kiji="二度ある。", midashi=""),
        record(311, kiji="二度ある。"),
    ]
    shuffled = sound + unsound
    random.Random(3).shuffle(shuffled)
    lines = jnc(tmp_path / "jnc.json", shuffled)
    assert convert("jnc", [lines], tmp_path / "out") == 0
    parts = [pairs_of(tmp_path / "out" / name) for name in ("train.tsv", "validation.tsv")]
    test = [[source, *rest] for source, rest in references_of(tmp_path / "out" / "test.jsonl")]
    kept = [*sound, *(each for each in unsound if each["kijiid"] in {"00306", "00307"})]
    # 202 pairs: 98 % are 197.96; the odd one of the other five is for validation.
    assert list(map(len, (*parts, test))) == [197, 3, 2]
    assert [*parts[0], *parts[1], *test] == [["".join(each["kiji"]), each["midashi"]] for each in kept]
    assert report_of(tmp_path / "out")["parts"] == {
        "pairs": {
            "read": 212,
            "kept": 202,
            "dropped": {"empty": 3, "equals_sign": 1, "repeated_article": 4, "repeated_headline": 2},
        }
    }
    assert "another pair has the same article" in capsys.readouterr().err


def test_ids_that_are_numbers_are_sorted_as_numbers_over_all_files(tmp_path: Path) -> None:
    numbers = list(range(95, 145))
    first = jnc(tmp_path / "a.json", [record(number, kijiid=number) for number in numbers[::2]])
    second = jnc(tmp_path / "b.json", [record(number, kijiid=number) for number in numbers[1::2]])
    assert convert("jnc", [second, first], tmp_path / "out") == 0
    headlines = [headline for _, headline in pairs_of(tmp_path / "out" / "train.tsv")]
    assert headlines == [f"船、港に着く{number}" for number in numbers[:49]]
    assert report_of(tmp_path / "out")["files"] == {"train.tsv": 49, "validation.tsv": 1, "test.jsonl": 0}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"kijiid": 1,', "it is not JSON: "),
        ("[" * 9999, "its JSON must not be nested so deeply"),
        ("[]", "it must be an object with kiji, midashi and kijiid, without kiji"),
        (
            '{"kijiid": 1, "kiji": "船。"}',
            "it must be an object with kiji, midashi and kijiid, without midashi",
        ),
        ('{"kijiid": null, "kiji": "船。", "midashi": "船"}', "kijiid must be text or a number, given None"),
        ('{"kijiid": "2", "kiji": 5, "midashi": "船"}', "kiji must be text or a list of sentences, given 5"),
        ('{"kijiid": "2", "kiji": "船。", "midashi": ["船", 1]}', "midashi must be text or a list"),
        (
            '{"kijiid": 2, "kiji": "船。", "midashi": "船"}',
            "kijiid must be text in all lines or a number in all",
        ),
    ],
)
def test_a_damaged_line_of_jnc_is_named(tmp_path: Path, capsys: Output, line: str, reason: str) -> None:
    path = write_lines(tmp_path / "jnc.json", [json.dumps(record(1)), "", line, json.dumps(record(2))])
    assert convert("jnc", [path], tmp_path / "out") == 2
    assert f"{path}:3: {reason}" in complaint(capsys)
    assert not (tmp_path / "out").exists()


def test_jnc_without_a_pair_left_is_refused(tmp_path: Path, capsys: Output) -> None:
    path = jnc(tmp_path / "jnc.json", [record(1), record(1)])
    assert convert("jnc", [path], tmp_path / "out") == 2
    message = "of the pairs at least one must be left, 2 were read and all dropped: 2 repeated_article"
    assert message in complaint(capsys)
    assert convert("jnc", [write(tmp_path / "empty.json", "")], tmp_path / "out") == 2
    assert "of the pairs at least one must be left, 0 were read\n" in complaint(capsys)
    assert convert("jnc", [tmp_path / "absent.json"], tmp_path / "out") == 2
    assert "absent.json must be a readable file: No such file" in complaint(capsys)
    assert [each.name for each in tmp_path.iterdir() if each.is_dir()] == []


HEADER = ["article", "paper", "26", "13", "10"]
LEAD = (
    "大型の台風が港を閉鎖した。首相は「備えよ。油断するな。」と述べた。鉄道（在来線。新幹線。）も止まった。"
)
ARTICLE = LEAD + "学校は休んだ。"
LONG, MIDDLE, SHORT = (
    "台風で港が閉鎖、首相が「備えよ」と呼びかけ鉄道も停止",
    "台風で港閉鎖、鉄道も停止",
    "台風で港閉鎖鉄道停止",
)
SOUND = [ARTICLE, "台風、港を閉ざす", LONG, MIDDLE, SHORT]


def changed(**columns: str) -> list[str]:
    row = dict(zip(("article", "paper", "long", "middle", "short"), SOUND, strict=True))
    return list((row | columns).values())


def test_jamul_becomes_a_test_set_for_each_length(tmp_path: Path, capsys: Output) -> None:
    path = write(tmp_path / "JAMUL.csv", as_csv([HEADER, SOUND, [], SOUND]))
    assert convert("jamul", [path], tmp_path / "out") == 0
    for length, headline in ((26, LONG), (13, MIDDLE), (10, SHORT)):
        assert references_of(tmp_path / "out" / f"test-{length}.jsonl") == [(LEAD, [headline])] * 2
    report = report_of(tmp_path / "out")
    assert report["parts"] == {"articles": {"read": 2, "kept": 2, "dropped": {}}}
    assert report["sentences"] == "rule"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (changed(long=LONG[:23]), "short_headline_26"),
        (changed(middle=MIDDLE[:10]), "short_headline_13"),
        (changed(short=SHORT[:7]), "short_headline_10"),
        (changed(article=f"席は=だ。{ARTICLE}"), "equals_sign"),
        # Words shared of one character only, or behind the first three sentences, do not count.
        (changed(long="を、が、は、で、と、も、に、の、や、か、へ、よ、ね、"), "no_shared_word_26"),
        (changed(middle="野球の優勝決定を祝う夜会"), "no_shared_word_13"),
        (changed(short="学校の授業が休講です"), "no_shared_word_10"),
        (changed(short=" "), "empty"),
        (changed(article=""), "empty"),
    ],
)
def test_jamul_drops_what_the_paper_drops(tmp_path: Path, row: list[str], reason: str) -> None:
    path = write(tmp_path / "JAMUL.csv", as_csv([HEADER, row, SOUND]))
    assert convert("jamul", [path], tmp_path / "out") == 0
    assert report_of(tmp_path / "out")["parts"]["articles"] == {"read": 2, "kept": 1, "dropped": {reason: 1}}


@pytest.mark.parametrize(
    "row",
    [
        changed(long=LONG[:24]),
        changed(middle=MIDDLE[:11]),
        changed(short=SHORT[:8]),
        # Only the three sentences that are read must be without an equals sign.
        changed(article=f"{ARTICLE}席は=だ。"),
        changed(long=f"{LONG[:24]}=", article=ARTICLE),
        # Latin words are compared without their case.
        changed(article=f"NASAは発表した。{ARTICLE}", short="nasaは何も言わず"),
    ],
)
def test_jamul_keeps_what_just_passes(tmp_path: Path, row: list[str]) -> None:
    path = write(tmp_path / "JAMUL.csv", as_csv([HEADER, row]))
    assert convert("jamul", [path], tmp_path / "out") == 0
    assert report_of(tmp_path / "out")["parts"]["articles"]["kept"] == 1


@pytest.mark.parametrize(
    "rows",
    [
        [SOUND],
        [["記事", "紙", "長", "中", "短"], SOUND],
        [[" 10", "13", "26", "Article", "Paper"], [SHORT, MIDDLE, LONG, ARTICLE, "台風、港を閉ざす"]],
    ],
)
def test_columns_go_by_their_names_or_else_by_their_order(tmp_path: Path, rows: list[list[str]]) -> None:
    path = write(tmp_path / "JAMUL.csv", "\ufeff" + as_csv(rows))
    assert convert("jamul", [path], tmp_path / "out") == 0
    assert references_of(tmp_path / "out" / "test-13.jsonl") == [(LEAD, [MIDDLE])]


def test_sentences_can_be_told_apart_as_the_released_script_does(tmp_path: Path) -> None:
    article = f"台風（大型。）が来た。港（北。）を閉鎖。首相は備えた。{ARTICLE}"
    path = write(tmp_path / "JAMUL.csv", as_csv([HEADER, changed(article=article)]))
    sources = []
    for how in ("rule", "released"):
        assert convert("jamul", [path], tmp_path / how, "--sentences", how) == 0
        assert report_of(tmp_path / how)["sentences"] == how
        sources += [source for source, _ in references_of(tmp_path / how / "test-10.jsonl")]
    assert sources == ["台風（大型。）が来た。港（北。）を閉鎖。首相は備えた。", article]


def test_jamul_that_cannot_be_read_is_refused(tmp_path: Path, capsys: Output) -> None:
    path, output = tmp_path / "JAMUL.csv", tmp_path / "out"

    def refused(content: str, *flags: str, encoding: str = "utf-8") -> str:
        path.write_bytes(content.encode(encoding))
        assert convert("jamul", [path], output, *flags) == 2
        assert not output.exists()
        return complaint(capsys)

    columns = "it must have the columns article, paper, 26, 13, 10, it has"
    assert f"{path}:1: {columns} 2 columns" in refused("article,headline\n")
    assert f"{path}:3: {columns} 4 columns" in refused(as_csv([HEADER, SOUND, SOUND[:4]]))
    assert f"{path}:3: it is not CSV: unexpected end of data" in refused(as_csv([HEADER, SOUND]) + '"open')
    assert f"{path}:1: it must be UTF-8" in refused(as_csv([SOUND]), encoding="cp932")
    assert "of the articles at least one must be left, 0 were read" in refused(as_csv([HEADER]))
    message = "1 were read and all dropped: 1 short_headline_10"
    assert message in refused(as_csv([HEADER, changed(short="短い")]))
    assert "--sentences must be rule or released, given 'all'" in refused("", "--sentences", "all")
