"""Pairs in every form are the same pairs; a bad line has a file, a number and a reason."""

import csv
import gzip
import json
import lzma
import sys
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path

import pyarrow
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from copyfit.data.corpus import (
    BLOCK_ROWS,
    Block,
    Pair,
    open_bytes,
    parse,
    read_blocks,
    read_pairs,
    stop,
)
from copyfit.errors import DataError

PAIRS = [
    Pair("The harbour was closed for a day after the storm.", ("Harbour closed",)),
    Pair("Zürich's trams “will run” again – on Monday", ("Trams run again", "Trams back")),
    Pair("港は嵐のあと一日閉じられた。", ("港が閉鎖",)),
    Pair('A comma, a "quote" and a \\ backslash', ("Signs, all kept",)),
]
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def as_tsv(pairs: Sequence[Pair]) -> bytes:
    return "".join(f"{pair.source}\t{pair.targets[0]}\n" for pair in pairs).encode()


def as_jsonl(pairs: Sequence[Pair]) -> bytes:
    records: list[dict[str, object]] = [
        {"id": 7, "source": pair.source, "references": list(pair.targets)}
        if len(pair.targets) > 1
        else {"source": pair.source, "target": pair.targets[0]}
        for pair in pairs
    ]
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def as_csv(pairs: Sequence[Pair]) -> bytes:
    stream = StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(["id", "target", "source", "target2", "target_url"])
    for pair in pairs:
        second = pair.targets[1] if len(pair.targets) > 1 else ""
        writer.writerow(["7", pair.targets[0], pair.source, second, "https://news.example/7"])
    return stream.getvalue().encode()


FORMS = {"tsv": as_tsv, "jsonl": as_jsonl, "csv": as_csv}


def collect(path: Path | str) -> tuple[list[Pair], list[str]]:
    problems: list[str] = []
    pairs = list(read_pairs([str(path)], lambda problem: problems.append(str(problem))))
    return pairs, [problem.replace(f"{path}:", "") for problem in problems]


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize("form", FORMS)
def test_pairs_are_the_same_in_every_form_and_compression(
    tmp_path: Path, form: str, compression: str
) -> None:
    path = tmp_path / f"pairs.v1.{form}{compression}"
    path.write_bytes(COMPRESS[compression](FORMS[form](PAIRS)))
    single = [pair._replace(targets=pair.targets[:1]) for pair in PAIRS]
    assert list(read_pairs([str(path)])) == (single if form == "tsv" else PAIRS)


@pytest.mark.parametrize("column", ["target", "targets", "references"])
def test_parquet_holds_one_target_or_a_list_of_them(tmp_path: Path, column: str) -> None:
    targets = [pair.targets[0] if column == "target" else list(pair.targets) for pair in PAIRS]
    table = pyarrow.table({"extra": [1] * 4, "source": [pair.source for pair in PAIRS], column: targets})
    parquet.write_table(table, tmp_path / "pairs.parquet", row_group_size=2)
    expected = [pair._replace(targets=pair.targets[:1]) if column == "target" else pair for pair in PAIRS]
    assert list(read_pairs([str(tmp_path / "pairs.parquet")])) == expected


def test_parquet_rows_without_text_are_bad(tmp_path: Path) -> None:
    path = tmp_path / "pairs.parquet"
    parquet.write_table(pyarrow.table({"source": ["a", None, "c"], "target": ["x", "y", None]}), path)
    pairs, problems = collect(path)
    assert pairs == [Pair("a", ("x",))]
    assert [problem[0] for problem in problems] == ["2", "3"]


def test_parallel_files_are_read_line_by_line_each_compressed_as_it_likes(tmp_path: Path) -> None:
    single = [pair._replace(targets=pair.targets[:1]) for pair in PAIRS]
    (tmp_path / "a.src").write_text("".join(f"{pair.source}\n" for pair in single))
    (tmp_path / "a.tgt.gz").write_bytes(gzip.compress("\n".join(pair.targets[0] for pair in single).encode()))
    assert list(read_pairs([f"{tmp_path / 'a.src'}|{tmp_path / 'a.tgt.gz'}"])) == single


@pytest.mark.parametrize(("first", "second"), [("a\nb\n", "x\n"), ("a\n", "x\ny\n")])
def test_parallel_files_of_unequal_length_are_refused(tmp_path: Path, first: str, second: str) -> None:
    (tmp_path / "a").write_text(first)
    (tmp_path / "b").write_text(second)
    with pytest.raises(DataError, match=r"must have as many lines, .* ends before line 2"):
        list(read_pairs([f"{tmp_path / 'a'}|{tmp_path / 'b'}"]))


def test_parallel_files_are_two() -> None:
    with pytest.raises(DataError, match="must be two"):
        list(read_pairs(["a|b|c"]))


def test_files_come_one_after_the_other(tmp_path: Path) -> None:
    for name, line in (("a.tsv", "one\tu\n"), ("b.tsv", "two\tz")):
        (tmp_path / name).write_text(line)
    paths = [str(tmp_path / name) for name in ("b.tsv", "a.tsv")]
    assert list(read_pairs(paths)) == [Pair("two", ("z",)), Pair("one", ("u",))]


def test_texts_are_normalised_and_line_ends_of_any_kind_vanish(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes("\ufeffCafe\u0301  au\u2028lait \t le\u00a0cafe\u0301\r\n".encode())
    assert list(read_pairs([str(path)])) == [Pair("Café au lait", ("le café",))]


def test_every_bad_line_of_a_tsv_is_reported_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(
        b"good\tone\nno tab\n\t target\nsource\t \n\ngood\xff\ttwo\n17\tarticle\theadline\nlast\tthree\n"
    )
    pairs, problems = collect(path)
    assert pairs == [Pair("good", ("one",)), Pair("last", ("three",))]
    assert problems == [
        "2: a tab must divide the source from the target",
        "3: the source must not be empty",
        "4: the target must not be empty",
        "5: a tab must divide the source from the target",
        "6: it is not UTF-8",
        '7: it must have one tab, it has 2; several targets of one source go into JSONL as "targets"',
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_header_of_a_tsv_is_no_pair(tmp_path: Path, end: str) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(f"\ufeffsource\ttarget{end}one\tu{end}source\ttarget{end}bad{end}".encode())
    pairs, problems = collect(path)
    assert pairs == [Pair("one", ("u",)), Pair("source", ("target",))]
    assert [problem.split(":")[0] for problem in problems] == ["4"]


@pytest.mark.parametrize("end", ["\n", "\n\n", "\r\n\r\n \r\n", "\n\n   "])
@pytest.mark.parametrize("form", ["tsv", "jsonl", "csv"])
def test_blank_lines_at_the_end_are_nothing(tmp_path: Path, form: str, end: str) -> None:
    path = tmp_path / f"a.{form}"
    path.write_bytes(FORMS[form](PAIRS[:1]) + end.encode())
    assert list(read_pairs([str(path)])) == PAIRS[:1]


@pytest.mark.parametrize("form", ["tsv", "jsonl", "csv"])
def test_a_blank_line_before_a_pair_is_bad(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"a.{form}"
    first, *rest = FORMS[form](PAIRS[:2]).splitlines(keepends=True)
    path.write_bytes(b"".join([first, b"\n", *rest, b"\n"]))
    assert [problem[0] for problem in collect(path)[1]] == ["2"]


@pytest.mark.parametrize(("first", "second"), [("a\nb\n\n", "x\ny\n\n"), ("a\nb\n", "x\ny\n\n \n")])
def test_blank_lines_at_the_end_of_parallel_files_are_nothing(
    tmp_path: Path, first: str, second: str
) -> None:
    (tmp_path / "a").write_text(first)
    (tmp_path / "b").write_text(second)
    expected = [Pair("a", ("x",)), Pair("b", ("y",))]
    assert list(read_pairs([f"{tmp_path / 'a'}|{tmp_path / 'b'}"])) == expected


def test_a_blank_line_of_one_parallel_file_is_bad(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a\nb\n")
    (tmp_path / "b").write_text("x\n\n")
    with pytest.raises(DataError, match=":2: the target must not be empty"):
        list(read_pairs([f"{tmp_path / 'a'}|{tmp_path / 'b'}"]))


def test_every_bad_line_of_jsonl_is_reported_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    good = json.dumps({"source": "s", "target": "t"})
    bad = ["{", "[1]", '{"source": "s"}', '{"target": "t"}', '{"source": 3, "target": "t"}', "", '"\\q"']
    bad += ["[" * 100_000]
    bad += ['{"source": "s", "targets": []}', '{"source": "s", "targets": ["a", null]}']
    path.write_text("\n".join([good, *bad, good]))
    pairs, problems = collect(path)
    assert pairs == [Pair("s", ("t",))] * 2
    assert [problem.split(":")[0] for problem in problems] == [str(number) for number in range(2, 12)]
    assert "not JSON" in problems[0]
    assert 'an object like {"source"' in problems[1]
    assert "must be text" in problems[4]


def test_every_bad_record_of_a_csv_is_reported_with_its_last_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    long, longest = "x" * 200_000, "x" * ((1 << 24) + 1)
    path.write_bytes(
        f'source,target\n"two\nlines",t\nalone\nbad\udcff,t\n"{longest}",t\n,t\n{long},t\n'.encode(
            errors="surrogateescape"
        )
    )
    pairs, problems = collect(path)
    assert pairs == [Pair("two lines", ("t",)), Pair(long, ("t",))]
    assert problems == [
        "4: it has too few columns",
        "5: it is not UTF-8",
        "6: it is not CSV: field larger than field limit (16777216)",
        "7: the source must not be empty",
    ]


def test_a_bad_line_is_fatal_unless_somebody_takes_it(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("fine\tpair\nnothing\n")
    with pytest.raises(DataError, match=r"a\.tsv:2: a tab"):
        list(read_pairs([str(tmp_path / "a.tsv")]))


@pytest.mark.parametrize(
    "name", ["a.tsv", "a.csv", "a.jsonl", "a.tsv.gz", "a.tsv.xz", "a.tsv.zst", "a.parquet"]
)
def test_a_missing_file_is_a_users_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=r"must be a readable file: No such file"):
        list(read_pairs([str(tmp_path / name)]))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", b""),
        ("a.tsv", b"\xef\xbb\xbf"),
        ("a.jsonl", b""),
        ("a.csv", b""),
        ("a.csv", b"source,target\n"),
    ],
)
def test_a_file_without_pairs_is_a_users_error(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match="must hold at least one pair, it is empty"):
        list(read_pairs([str(tmp_path / name)]))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").mkdir()
    with pytest.raises(DataError, match="must be a readable file: Is a directory"):
        list(read_pairs([str(tmp_path / "a.tsv")]))


@pytest.mark.parametrize("header", ["text,headline", "source,headline", "title,target", "source,target_url"])
def test_a_csv_must_name_its_columns(tmp_path: Path, header: str) -> None:
    (tmp_path / "a.csv").write_text(f"{header}\na,b\n")
    with pytest.raises(DataError, match=f"must have the columns 'source' and 'target', it has {header[:4]}"):
        list(read_pairs([str(tmp_path / "a.csv")]))


@pytest.mark.parametrize("name", ["a.docx", "a", "a.gz", "a.tsv.bz2"])
def test_an_unknown_form_is_refused(name: str) -> None:
    with pytest.raises(DataError, match=r"must be \.tsv, \.csv"):
        list(read_pairs([name]))


@pytest.mark.parametrize("compression", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_compressed_file_that_was_cut_off_is_damaged(
    tmp_path: Path, compression: str, share: float
) -> None:
    lines = b"".join(b"source %d\ttarget %d\n" % (number, number * 7919) for number in range(20_000))
    content = COMPRESS[compression](lines)
    path = tmp_path / f"a.tsv{compression}"
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(DataError, match="is damaged or cut off"):
        list(read_pairs([str(path)]))


@pytest.mark.parametrize("name", ["a.tsv.gz", "a.tsv.xz", "a.tsv.zst", "a.parquet"])
def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("source\ttarget\n" * 100)
    with pytest.raises(DataError, match=r"is damaged|must be a whole Parquet file"):
        list(read_pairs([str(tmp_path / name)]))


def test_zstandard_files_may_have_several_frames(tmp_path: Path) -> None:
    compress = zstandard.ZstdCompressor().compress
    (tmp_path / "a.tsv.zst").write_bytes(compress(b"a\tx\nb") + compress(b"\ty\n"))
    assert list(read_pairs([str(tmp_path / "a.tsv.zst")])) == [Pair("a", ("x",)), Pair("b", ("y",))]
    with open_bytes(tmp_path / "a.tsv.zst") as stream:
        assert stream.read() == b"a\tx\nb\ty\n"


@pytest.mark.parametrize(("package", "name"), [("zstandard", "a.tsv.zst"), ("pyarrow", "a.parquet")])
def test_a_package_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, name: str
) -> None:
    (tmp_path / name).write_bytes(b"")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DataError, match=f"only with the package {package}: install it"):
        list(read_pairs([str(tmp_path / name)]))


def test_a_file_without_line_ends_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress(bytes(1 << 27), compresslevel=1))
    with pytest.raises(DataError, match="must be lines of text"):
        list(read_pairs([str(path)]))


def test_blocks_have_a_bounded_number_of_rows_and_no_row_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"source {number}\ttarget\n" for number in range(2 * BLOCK_ROWS + 5)))
    blocks = list(read_blocks([str(path)]))
    assert [len(block.rows) for block in blocks] == [BLOCK_ROWS, BLOCK_ROWS, 5]
    assert [line for block in blocks for line, _ in block.rows] == list(range(1, 2 * BLOCK_ROWS + 6))
    sources = [pair.source for block in blocks for pair in parse(block, stop)]
    assert sources == [f"source {number}" for number in range(2 * BLOCK_ROWS + 5)]


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=8), st.sampled_from(["tsv", "jsonl"]))
def test_any_bytes_give_pairs_or_numbered_complaints(lines: list[bytes], form: str) -> None:
    problems: list[str] = []
    block = Block("some", form, tuple(enumerate(lines, 1)))
    pairs = list(parse(block, lambda problem: problems.append(str(problem))))
    assert len(pairs) + len(problems) == len(lines)
    assert all(problem.startswith("some:") for problem in problems)
    assert all(pair.source and all(pair.targets) for pair in pairs)
