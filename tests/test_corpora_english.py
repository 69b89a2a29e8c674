"""Gigaword and DUC, from the files of their owners to those that everything else reads."""

import gzip
import json
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from copyfit.data.corpora.gigaword import Draw
from copyfit.data.corpus import Pair
from support_cli import Output, complaint
from support_corpora import (
    convert,
    pairs_of,
    references_of,
    report_of,
    write,
    write_document,
    write_lines,
    write_summaries,
)


def namas(folder: Path, part: str, pairs: list[tuple[str, str]], ending: str = "txt") -> None:
    for side, texts in zip(("article", "title"), zip(*pairs, strict=True), strict=True):
        write_lines(folder / f"{part}.{side}.{ending}", list(texts))


TRAIN = [
    ("a ferry sank off the coast on monday , police said .", "ferry sinks off coast"),
    ("shares rose #.# percent in <unk> , dealers said .", "<unk> shares rise #.# percent"),
    ("the mayor -lrb- ## -rrb- resigned .", ""),
    ("", "nothing to go on"),
    ("a  school   closed .", "school closes"),
]
VALIDATION = [("a storm hit the town .", "storm hits town")]
TEST = [(f"article {length} of the test .", "x" * length) for length in (1, 30, 31, 50, 51, 75, 76)]


@pytest.fixture
def gigaword(tmp_path: Path) -> Path:
    folder = tmp_path / "namas"
    namas(folder, "train", TRAIN)
    namas(folder, "valid", VALIDATION, "filter.txt")
    namas(folder, "valid", [("not filtered .", "by the scripts")] * 3)
    namas(folder, "test", TEST)
    return folder


def test_gigaword_becomes_pairs_and_test_groups(gigaword: Path, tmp_path: Path, capsys: Output) -> None:
    output = tmp_path / "out"
    assert convert("gigaword", [gigaword], output) == 0
    assert pairs_of(output / "train.tsv") == [
        [TRAIN[0][0], TRAIN[0][1]],
        [TRAIN[1][0], TRAIN[1][1]],
        ["a school closed .", "school closes"],
    ]
    assert pairs_of(output / "validation.tsv") == [list(VALIDATION[0])]
    for length, group in ((30, TEST[:2]), (50, TEST[2:4]), (75, TEST[4:6])):
        assert references_of(output / f"test-{length}.jsonl") == [(one, [two]) for one, two in group]
    report = report_of(output)
    assert report["corpus"] == "gigaword"
    assert (report["sample"], report["seed"], report["inputs"]) == (3000, 1, [str(gigaword)])
    assert report["parts"] == {
        "train pairs": {"read": 5, "kept": 3, "dropped": {"empty": 2}},
        "validation pairs": {"read": 1, "kept": 1, "dropped": {}},
        "test pairs": {"read": 7, "kept": 6, "dropped": {"longer_than_groups": 1}},
    }
    captured = capsys.readouterr()
    assert captured.out == ""
    told = [" ".join(line.split()) for line in captured.err.splitlines()]
    assert told[:3] == [
        "read kept dropped",
        "train pairs 5 3 2",
        "empty 2 has no text where there must be some",
    ]
    assert f"{output / 'test-30.jsonl'}: 2" in told


def test_the_report_is_printed_on_demand(gigaword: Path, tmp_path: Path, capsys: Output) -> None:
    assert convert("gigaword", [gigaword], tmp_path / "out", "--json") == 0
    assert json.loads(capsys.readouterr().out) == report_of(tmp_path / "out")


def test_the_sample_of_each_group_follows_from_the_seed_only(tmp_path: Path) -> None:
    draw = random.Random(5)
    lengths = {30: (1, 30), 50: (31, 50), 75: (51, 75)}
    pairs = [
        (f"article {number} .", "y" * draw.randint(*lengths[limit]))
        for limit in lengths
        for number in range(200)
    ]
    draw.shuffle(pairs)
    namas(tmp_path / "in", "test", pairs)
    outputs = {}
    for name, flags in (("a", ["--seed", "1"]), ("b", []), ("c", ["--seed", "2"])):
        assert convert("gigaword", [tmp_path / "in"], tmp_path / name, "--sample", "40", *flags) == 0
        outputs[name] = [references_of(tmp_path / name / f"test-{length}.jsonl") for length in lengths]
    assert outputs["a"] == outputs["b"] != outputs["c"]
    for (low, high), group in zip(lengths.values(), outputs["a"], strict=True):
        drawn = [(source, references[0]) for source, references in group]
        assert len(set(drawn)) == 40
        assert all(low <= len(reference) <= high for _, reference in drawn)
        assert drawn == [pair for pair in pairs if pair in set(drawn)], "in the order of the file"
    report = report_of(tmp_path / "a")
    assert report["parts"]["test pairs"]["dropped"] == {"not_sampled": 480}
    # A pair more, and another order, leave nearly the same sample.
    namas(tmp_path / "in", "test", [("one more .", "z" * 20), *reversed(pairs)])
    assert convert("gigaword", [tmp_path / "in"], tmp_path / "d", "--sample", "40") == 0
    for length, group in zip(lengths, outputs["a"], strict=True):
        again = {source for source, _ in references_of(tmp_path / "d" / f"test-{length}.jsonl")}
        assert len(again & {source for source, _ in group}) >= 39


def test_the_sample_is_even() -> None:
    pairs = [Pair(f"article {number}", ("title",)) for number in range(100)]
    times = Counter(pair.source for seed in range(60) for pair in Draw(50, seed).of(pairs))
    # Binomial of 60 and a half: five deviations are 19.
    assert times.total() == 3000
    assert len(times) == 100
    assert all(11 <= number <= 49 for number in times.values())


def test_compressed_files_in_folders_of_their_own_are_found(gigaword: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    assert convert("gigaword", [gigaword], plain) == 0
    for side in ("article", "title"):
        path = gigaword / f"train.{side}.txt"
        (gigaword / "train").mkdir(exist_ok=True)
        (gigaword / "train" / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert convert("gigaword", [gigaword], tmp_path / "packed") == 0
    assert (tmp_path / "packed" / "train.tsv").read_bytes() == (plain / "train.tsv").read_bytes()


def test_parts_that_are_not_there_are_left_out(gigaword: Path, tmp_path: Path) -> None:
    for path in gigaword.glob("t*"):
        path.unlink()
    for path in gigaword.glob("*filter*"):
        path.unlink()
    assert convert("gigaword", [gigaword], tmp_path / "out") == 0
    assert report_of(tmp_path / "out")["files"] == {"validation.tsv": 3}


def test_gigaword_that_cannot_be_read_is_refused(gigaword: Path, tmp_path: Path, capsys: Output) -> None:
    output = tmp_path / "out"
    (tmp_path / "nothing").mkdir()

    def refused(*inputs: Path) -> str:
        assert convert("gigaword", inputs, output) == 2
        assert not output.exists()
        return complaint(capsys)

    assert "must have files as NAMAS names them" in refused(tmp_path / "nothing")
    assert "must be a folder, with train.article.txt" in refused(tmp_path / "absent")
    assert "must be one folder of Gigaword's files, given 2" in refused(gigaword, gigaword)
    with (gigaword / "train.title.txt").open("a") as file:
        file.write("one more\n")
    assert "train.article.txt ends before line 6" in refused(gigaword)
    write_lines(gigaword / "train.title.txt", ["one"])
    assert "train.title.txt ends before line 2" in refused(gigaword)
    (gigaword / "train.title.txt").write_bytes(b"\xef\xbb\xbfone\ntw\xe9\n")
    assert "train.title.txt:2: it must be UTF-8: byte 3 is not" in refused(gigaword)
    (gigaword / "train.title.txt").unlink()
    assert "must have a train.title.txt beside it" in refused(gigaword)
    namas(gigaword, "train", [("", "title")])
    assert "of the train pairs at least one must be left, 1 were read and all dropped: 1 empty" in refused(
        gigaword
    )
    namas(gigaword / "more", "train", TRAIN)
    assert "must have one train.article.txt, it has " in refused(gigaword)


def test_an_output_that_holds_something_is_left_alone(gigaword: Path, tmp_path: Path, capsys: Output) -> None:
    write(tmp_path / "out" / "mine.txt", "mine")
    assert convert("gigaword", [gigaword], tmp_path / "out") == 2
    assert "must be a new or empty folder: choose another" in complaint(capsys)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_choices_of_another_corpus_are_refused(gigaword: Path, tmp_path: Path, capsys: Output) -> None:
    for arguments, message in (
        (("duc", "--sample", "5"), "--sample is for gigaword: leave it out for duc"),
        (("jamul", "--seed", "5"), "--seed is for gigaword"),
        (("gigaword", "--sentences", "rule"), "--sentences is for jamul"),
        (("gigawords",), "must be one of gigaword, duc, jnc, jamul, given 'gigawords'"),
    ):
        name, *flags = arguments
        assert convert(name, [gigaword], tmp_path / "out", *flags) == 2
        assert message in complaint(capsys)


FERRY = """   HOLM, Jan. 5 (Wire) -- A ferry sank off Holm on
Monday, Mr. Lund of the U.S. Coast Guard said. Nobody was hurt.
   The ferry was &UR; old."""
SCHOOL = """<P>
&QL; Bath &AMP; Lund School closed, said <ANNOTATION>teachers</ANNOTATION>
</P>
<P>
It was old.
</P>"""
FERRY_SUMMARIES = [
    "Ferry sinks off Holm",
    "Ferry sinks; no one hurt",
    "Holm ferry sinks",
    "Old ferry, Holm, sinks",
]
SCHOOL_SUMMARIES = ["School closes", "Bath & Lund closes", "Old school closes", "Teachers: school closed"]


@pytest.fixture
def duc(tmp_path: Path) -> tuple[Path, Path]:
    docs, models = tmp_path / "docs", tmp_path / "eval" / "models" / "1"
    write_document(docs, "d30001t", "APW19981016.0240", FERRY)
    write_document(docs, "d30002a", "NYT19981017.0001", SCHOOL)
    # One document in two clusters has summaries in each.
    write_document(docs, "d30002a", "APW19981016.0240", FERRY)
    write_summaries(models, "D30001", "APW19981016.0240", FERRY_SUMMARIES)
    write_summaries(models, "D30002", "NYT19981017.0001", SCHOOL_SUMMARIES)
    write_summaries(models, "D30002", "APW19981016.0240", FERRY_SUMMARIES[::-1])
    return docs, models


FERRY_SOURCE = (
    "HOLM, Jan. 5 (Wire) -- A ferry sank off Holm on Monday, Mr. Lund of the U.S. Coast Guard said."
)
SCHOOL_SOURCE = "Bath & Lund School closed, said teachers"


def test_duc_becomes_first_sentences_with_four_references(
    duc: tuple[Path, Path], tmp_path: Path, capsys: Output
) -> None:
    docs, models = duc
    write(docs / ".DS_Store", "not a document")
    write(models / "D30001.M.100.T.A", "a long summary")
    write(models / "D30001.P.10.T.17.APW19981016.0240", "of a peer")
    write(models / "D30009.P.10.T.A.APW19981016.0999", "of no document")
    assert convert("duc", duc, tmp_path / "out") == 0
    assert references_of(tmp_path / "out" / "test-75.jsonl") == [
        (FERRY_SOURCE, FERRY_SUMMARIES),
        (FERRY_SOURCE, FERRY_SUMMARIES[::-1]),
        (SCHOOL_SOURCE, SCHOOL_SUMMARIES),
    ]
    assert report_of(tmp_path / "out")["parts"] == {
        "documents": {"read": 3, "kept": 3, "dropped": {}},
        "model summaries": {
            "read": 15,
            "kept": 12,
            "dropped": {"of_another_task": 2, "without_document": 1},
        },
    }
    assert capsys.readouterr().out == ""


def test_marked_up_summaries_and_other_names_are_understood(duc: tuple[Path, Path], tmp_path: Path) -> None:
    docs, models = duc
    plain = convert("duc", duc, tmp_path / "plain")
    for path in list(models.iterdir()):
        text, number = path.read_text(encoding="utf-8").strip().replace("&", "&amp;"), path.name
        marked = {
            "A": f'<html>\n<head>\n<title>{number}</title></head>\n<body bgcolor="white">\n'
            f'<a name="1">[1]</a> <a href="#1" id=1>{text}</a>\n</body></html>',
            "B": f'<SUM DOCSET="d30001" TYPE="PERDOC" SIZE="10" SELECTOR="T">\n{text} </SUM>',
        }
        author = number.split(".")[4]
        path.unlink()
        write(models / f"{number.lower()}.html", marked.get(author, text.replace("&amp;", "&")))
    for path in list(docs.rglob("*T1998*")):
        # The name of a document may be in its text only.
        path.rename(path.with_name("article.sgml"))
    for path in list(docs.rglob("APW*")):
        path.write_text(path.read_text().replace("TEXT>", "Graphic>"))
        path.rename(path.with_name(f"{path.name}.sgml"))
    assert plain == convert("duc", duc, tmp_path / "marked") == 0
    expected = references_of(tmp_path / "plain" / "test-75.jsonl")
    assert sorted(references_of(tmp_path / "marked" / "test-75.jsonl")) == sorted(expected)


def test_a_document_without_text_is_dropped_and_told(duc: tuple[Path, Path], tmp_path: Path) -> None:
    write_document(duc[0], "d30003b", "XIE19981017.0001", "<P>\n</P>")
    assert convert("duc", duc, tmp_path / "out") == 0
    assert report_of(tmp_path / "out")["parts"]["documents"] == {
        "read": 4,
        "kept": 3,
        "dropped": {"empty": 1},
    }


def test_duc_that_cannot_be_read_is_refused(duc: tuple[Path, Path], tmp_path: Path, capsys: Output) -> None:
    docs, models = duc
    output, ferry = tmp_path / "out", docs / "d30001t" / "APW19981016.0240"
    summary = models / "D30001.P.10.T.C.APW19981016.0240"
    whole = ferry.read_text(encoding="utf-8")

    def refused(*inputs: Path) -> str:
        assert convert("duc", inputs or duc, output) == 2
        assert not output.exists()
        return complaint(capsys)

    summary.write_text("\n")
    assert "D30001.P.10.T.C.APW19981016.0240 must hold a summary, it is empty" in refused()
    summary.unlink()
    assert f"{ferry} must have 4 model summaries in {models}" in (message := refused())
    assert "it has 3, D30001.P.10.T.A.APW19981016.0240, " in message
    for path in models.glob("D30001*"):
        path.unlink()
    assert "named like D30001.P.10.T.A.APW19981016.0240; it has 0\n" in refused()
    for content, reason in (
        (whole.replace("</TEXT>", ""), ":5: the <TEXT> that opens here must be closed"),
        (whole.replace("</DOC>", ""), ":1: the <DOC> that opens here must be closed"),
        (whole.replace("DOC>", "NEWS>"), ":1: it must be an SGML document, it has no <DOC>"),
        (whole.replace("TEXT>", "BODY>"), ":1: it must have a <TEXT>, it has none"),
    ):
        ferry.write_text(content, encoding="utf-8")
        assert f"{ferry}{reason}" in refused()
    ferry.write_bytes(whole.replace("Nobody", "No\xe9body").encode("latin-1"))
    assert f"{ferry}:7: it must be UTF-8: byte 50 is not" in refused()
    assert "must have model summaries of task 1, named like D30001.P.10" in refused(docs, docs)
    assert "must lie in the folder of a cluster, named like d30001t" in refused(models, models)
    assert "must be a folder, of documents or of model summaries" in refused(tmp_path / "no", models)
    assert "must be two folders, of documents and of model summaries, given 3" in refused(docs, models, docs)
    assert "must have one input.txt and 4 files task1_ref*.txt, it has 0 and 0" in refused(docs)
    shutil.rmtree(docs)
    docs.mkdir()
    assert "must have documents, in a folder for each cluster; it is empty" in refused()


def test_what_the_scripts_of_namas_made_of_duc_is_read(tmp_path: Path, capsys: Output) -> None:
    clean = tmp_path / "clean_2004"
    write_lines(clean / "input.txt", ["a ferry sank .", "", "a school closed ."])
    for number in range(4):
        write_lines(clean / "references" / f"task1_ref{number}.txt", [f"{word} {number}" for word in "abc"])
    assert convert("duc", [clean], tmp_path / "out") == 0
    assert references_of(tmp_path / "out" / "test-75.jsonl") == [
        ("a ferry sank .", ["a 0", "a 1", "a 2", "a 3"]),
        ("a school closed .", ["c 0", "c 1", "c 2", "c 3"]),
    ]
    assert report_of(tmp_path / "out")["parts"]["documents"]["dropped"] == {"empty": 1}
    capsys.readouterr()
    write_lines(clean / "references" / "task1_ref2.txt", ["a", "b"])
    assert convert("duc", [clean], tmp_path / "more") == 2
    assert "task1_ref2.txt ends before line 3" in complaint(capsys)
