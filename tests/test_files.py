import json
import math
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from copyfit.errors import DataError
from copyfit.writing.files import FileJob, Tally, write_file
from copyfit.writing.requests import Wish
from copyfit.writing.rows import read_rows as read_input
from copyfit.writing.sinks import open_sink
from copyfit.writing.writer import Effort, Writer
from support_files import Rows, job, read_rows, read_text, refused, run, write_rows, write_text
from support_writing import TEXTS, Stutterer, save_tiny

ADDED = {"headline", "headline_length", "fits", "truncated", "error"}


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Writer:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    return Writer(save_tiny(folder, "character"), engine=Stutterer())


def plain(rows: Rows) -> list[tuple[str, str]]:
    return [(str(row["id"]), row["headline"]) for row in rows]


FORMS = ("a.jsonl", "a.csv", "a.tsv", "a.parquet", "a.jsonl.gz", "a.csv.xz", "a.tsv.zst")


@pytest.mark.parametrize("name", FORMS)
def test_every_form_can_be_read_and_written_with_its_columns_and_order_kept(
    writer: Writer, tmp_path: Path, name: str
) -> None:
    rows: Rows = [{"id": number, "text": text, "note": 'a "b", c'} for number, text in enumerate(TEXTS[:5])]
    (tmp_path / "out").mkdir()
    write_rows(tmp_path / name, rows)
    tally = run(writer, tmp_path / name, tmp_path / "out" / name)
    assert tally == Tally(rows=5, failed=0, unfit=0)
    written = read_rows(tmp_path / "out" / name)
    assert [set(row) for row in written] == [{"id", "text", "note"} | ADDED] * 5
    assert [row["note"] for row in written] == ['a "b", c'] * 5
    assert [row["text"] for row in written] == list(TEXTS[:5])
    expected = writer(list(TEXTS[:5]), length=9, num_beams=1)
    assert plain(written) == [(str(number), text) for number, text in enumerate(expected)]
    assert {str(row["headline_length"]) for row in written} == {"9"}
    assert {str(row["fits"]).lower() for row in written} == {"true"}


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.jsonl.zst", "out.tsv"])
def test_forms_can_be_mixed(writer: Writer, tmp_path: Path, name: str) -> None:
    write_rows(
        tmp_path / "in.jsonl", [{"id": 1, "text": TEXTS[0]}, {"id": 2, "text": TEXTS[1], "more": None}]
    )
    run(writer, tmp_path / "in.jsonl", tmp_path / name)
    first, second = read_rows(tmp_path / name)
    assert set(second) >= {"id", "text", "more"} | ADDED
    assert first["headline"] == writer(TEXTS[0], length=9, num_beams=1)


def test_a_text_file_gives_a_headline_a_line_with_gaps_for_failed_ones(
    writer: Writer, tmp_path: Path
) -> None:
    write_text(tmp_path / "in.txt", f"{TEXTS[0]}\r\n\n\udcff\n{TEXTS[1]}")
    tally = run(writer, tmp_path / "in.txt", tmp_path / "out.txt")
    first, second = writer(list(TEXTS[:2]), length=9, num_beams=1)
    assert read_text(tmp_path / "out.txt") == f"{first}\n\n\n{second}\n"
    assert tally == Tally(rows=4, failed=2, unfit=0)


def test_rows_bring_their_own_budgets(writer: Writer, tmp_path: Path) -> None:
    own: Rows = [
        {},
        {"length": 12},
        {"length": "12", "min": 10.0},
        {"length": 6, "unit": "cell", "mode": "max"},
        {"preset": "google-ads-path"},
        {"length": None, "unit": "", "preset": None},
    ]
    write_rows(tmp_path / "in.jsonl", [{"text": TEXTS[0], **row} for row in own])
    run(writer, tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    lengths = [row["headline_length"] for row in read_rows(tmp_path / "out.jsonl")]
    assert lengths[:2] == [9, 12]
    assert 10 <= lengths[2] <= 12
    assert lengths[3] <= 6
    assert lengths[4] <= 15
    assert lengths[5] == 9


def test_a_row_may_keep_a_flag_and_change_another(writer: Writer, tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", [{"text": TEXTS[0], "length": 11}, {"text": TEXTS[0], "unit": "byte"}])
    run(writer, tmp_path / "in.jsonl", tmp_path / "out.jsonl", Wish(9, mode="max"), Wish(8, mode="max"))
    rows = read_rows(tmp_path / "out.jsonl")
    # The row's own length takes the place of both.
    assert len(rows) == 3
    assert all(row["fits"] for row in rows)


@pytest.mark.parametrize(
    ("flags", "own", "fitting"),
    [
        (Wish(preset="sms"), {"length": 12}, {12}),
        (Wish(preset="sms"), {"length": 12, "min": 10}, {10, 11, 12}),
        (Wish(preset="sms"), {"min": 30}, set(range(30, 121))),
        (Wish(preset="google-ads-path"), {"mode": "exact"}, {15}),
        (Wish(9, minimum=6), {"mode": "exact"}, {9}),
        (Wish(9, minimum=6), {"mode": "max", "length": 4}, {1, 2, 3, 4}),
        (Wish(9, mode="max"), {"min": 7}, {7, 8, 9}),
        (Wish(9, minimum=6), {"mode": "range", "length": 7}, {6, 7}),
        (Wish(9, mode="exact"), {"preset": "google-ads-path"}, set(range(1, 16))),
    ],
)
def test_what_a_row_asks_for_takes_the_place_of_what_contradicts_it(
    tmp_path: Path, flags: Wish, own: dict[str, Any], fitting: set[int]
) -> None:
    writer = Writer(save_tiny(tmp_path / "model"), device="cpu")
    write_rows(tmp_path / "in.jsonl", [{"text": TEXTS[0], **own}])
    assert run(writer, tmp_path / "in.jsonl", tmp_path / "out.jsonl", flags) == Tally(rows=1)
    (row,) = read_rows(tmp_path / "out.jsonl")
    assert row["headline_length"] in fitting


@pytest.mark.parametrize("name", ["in.csv", "in.tsv", "in.jsonl"])
def test_a_column_with_gaps_gives_whole_lengths_and_no_length_where_it_has_none(
    writer: Writer, tmp_path: Path, name: str
) -> None:
    write_rows(tmp_path / name, [{"text": TEXTS[0], "length": each} for each in ("7.0", "", " 8 ", "NaN")])
    run(writer, tmp_path / name, tmp_path / "out.jsonl")
    assert [row["headline_length"] for row in read_rows(tmp_path / "out.jsonl")] == [7, 9, 8, 9]


def strict(line: str) -> Any:
    return json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


@pytest.mark.parametrize("name", ["in.jsonl", "in.parquet"])
def test_what_is_no_number_is_null_in_json_and_nothing_in_tables(
    writer: Writer, tmp_path: Path, name: str
) -> None:
    rows: Rows = [
        {"text": "A \ud800 storm" if name == "in.jsonl" else "A storm", "length": math.nan, "x": 1.5}
    ]
    write_rows(tmp_path / name, rows)
    for output in ("out.jsonl", "out.csv"):
        assert run(writer, tmp_path / name, tmp_path / output) == Tally(rows=1)
    (line,) = read_text(tmp_path / "out.jsonl").splitlines()
    assert (strict(line)["length"], strict(line)["x"], strict(line)["headline_length"]) == (None, 1.5, 9)
    (row,) = read_rows(tmp_path / "out.csv")
    assert (row["length"], row["x"]) == ("", "1.5")


@pytest.mark.parametrize("name", ["in.csv", "in.tsv", "in.jsonl", "in.parquet"])
@pytest.mark.parametrize("column", sorted(ADDED))
def test_a_column_of_the_input_is_never_overwritten(
    writer: Writer, tmp_path: Path, name: str, column: str
) -> None:
    write_rows(tmp_path / name, [{"text": TEXTS[0], column: "mine"}])
    write_text(tmp_path / "out.jsonl", "from before\n")
    message = refused(writer, job(tmp_path / name, tmp_path / "out.jsonl"))
    assert f"{name} must not have a column {column!r}, which the output gets; give it another name" in message
    assert read_text(tmp_path / "out.jsonl") == "from before\n"


def test_a_column_of_headlines_is_kept_unless_several_are_asked_for(writer: Writer, tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", [{"text": TEXTS[0], "headlines": "mine"}])
    run(writer, tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    run(writer, tmp_path / "in.jsonl", tmp_path / "out.jsonl", resume=True)
    assert [row["headlines"] for row in read_rows(tmp_path / "out.jsonl")] == ["mine"]
    with pytest.raises(DataError, match="'headlines'"):
        write_file(writer, job(tmp_path / "in.jsonl", tmp_path / "out.jsonl"), Effort(count=2))


@pytest.mark.parametrize("name", ["in.jsonl", "in.csv", "in.tsv", "in.txt"])
def test_an_empty_input_leaves_an_output_from_before_as_it_was(
    writer: Writer, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).touch()
    write_text(tmp_path / "out.csv", "text,headline\nA,B\n")
    for resume in (False, True):
        assert "empty" in refused(writer, job(tmp_path / name, tmp_path / "out.csv", resume=resume))
        assert read_text(tmp_path / "out.csv") == "text,headline\nA,B\n"


def test_columns_have_the_names_that_are_asked_for(writer: Writer, tmp_path: Path) -> None:
    write_rows(tmp_path / "in.csv", [{"body": TEXTS[0], "limit": 7, "length": 400}])
    run(writer, tmp_path / "in.csv", tmp_path / "out.csv", text_column="body", length_column="limit")
    (row,) = read_rows(tmp_path / "out.csv")
    assert (row["headline_length"], row["limit"], row["length"]) == ("7", "7", "400")


def test_several_lengths_give_several_rows(writer: Writer, tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", [{"id": number, "text": TEXTS[number]} for number in range(2)])
    run(writer, tmp_path / "in.jsonl", tmp_path / "out.jsonl", Wish(7), Wish(9))
    rows = read_rows(tmp_path / "out.jsonl")
    assert [(row["id"], row["headline_length"]) for row in rows] == [(0, 7), (0, 9), (1, 7), (1, 9)]


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.tsv", "out.parquet"])
def test_several_candidates_are_a_list(writer: Writer, tmp_path: Path, name: str) -> None:
    write_rows(tmp_path / "in.jsonl", [{"text": TEXTS[0]}])
    job = FileJob(tmp_path / "in.jsonl", tmp_path / name, (Wish(9),))
    write_file(writer, job, Effort(num_beams=1, count=3))
    (row,) = read_rows(tmp_path / name)
    listed = row["headlines"]
    headlines = json.loads(listed) if isinstance(listed, str) else listed
    assert len(set(headlines)) == 3
    assert headlines[0] == row["headline"]


BAD_JSON = (
    ('{"text": ""}', "the text must not be empty"),
    ("{", "line 2 must be JSON"),
    ("[1]", "line 2 must be a JSON object"),
    ("[" * 100_000, "line 2 must be JSON"),
    ("", "line 2 must be JSON"),
    ("\udcff", "line 2 must be UTF-8"),
    ('{"body": "x"}', "the row must have a column 'text'"),
    ('{"text": 7}', "a text must be a string, given int"),
    ('{"text": null}', "a text must be a string, given NoneType"),
    ('{"text": "x", "length": 0}', "length must be from 1 to 10000, given 0"),
    ('{"text": "x", "length": "ten"}', "length must be a whole number from 1 to 10000, given 'ten'"),
    ('{"text": "x", "length": 9.5}', "given 9.5"),
    ('{"text": "x", "length": [9]}', "column 'length' must hold plain values, given [9]"),
    ('{"text": "x", "unit": "pixel"}', "the unit must be one of"),
    ('{"text": "x", "unit": 7}', "unit must be a name, given 7"),
    ('{"text": "x", "mode": "any"}', "mode must be one of"),
    ('{"text": "x", "preset": "any"}', "any"),
    ('{"text": "x", "min": 20}', "min must not be above max, given 20 and 9"),
)


@pytest.mark.parametrize(("line", "message"), BAD_JSON)
def test_a_bad_row_fails_alone_and_says_why(writer: Writer, tmp_path: Path, line: str, message: str) -> None:
    good = json.dumps({"text": TEXTS[0], "id": 1})
    write_text(tmp_path / "in.jsonl", f"{good}\n{line}\n{good}\n")
    assert run(writer, tmp_path / "in.jsonl", tmp_path / "out.jsonl") == Tally(rows=3, failed=1)
    first, bad, last = read_rows(tmp_path / "out.jsonl")
    assert message in bad["error"]
    assert (bad["headline"], bad["headline_length"], bad["fits"]) == (None, None, None)
    assert first == last
    assert first["error"] is None


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_a_bad_line_of_a_table_fails_alone(writer: Writer, tmp_path: Path, form: str) -> None:
    gap = {"csv": ",", "tsv": "\t"}[form]
    lines = [["id", "text"], ["1", TEXTS[6]], ["2"], ["3", "a", "b"], ["4", "\udcff"], ["5", TEXTS[6]]]
    write_text(tmp_path / f"in.{form}", "".join(f"{gap.join(line)}\n" for line in lines))
    assert run(writer, tmp_path / f"in.{form}", tmp_path / f"out.{form}") == Tally(rows=5, failed=3)
    rows = read_rows(tmp_path / f"out.{form}")
    assert [row["id"] for row in rows if row["headline"]] == ["1", "5"]
    errors = [row["error"] for row in rows]
    assert "line 3 must have 2 columns, it has 1" in errors[1]
    assert "line 4 must have 2 columns, it has 3" in errors[2]
    assert errors[3] == "line 5 must be UTF-8"


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_column_names_that_are_not_utf8_are_told(writer: Writer, tmp_path: Path, form: str) -> None:
    write_text(tmp_path / f"in.{form}", "text\udce9\nA storm\n")
    message = refused(writer, job(tmp_path / f"in.{form}", tmp_path / "out.csv"))
    assert f"in.{form}: line 1 must be UTF-8" in message


def test_a_field_of_a_table_may_be_long_and_have_line_ends(writer: Writer, tmp_path: Path) -> None:
    write_rows(tmp_path / "in.csv", [{"text": "A storm\n" * 30_000}, {"text": TEXTS[0]}])
    assert run(writer, tmp_path / "in.csv", tmp_path / "out.csv").failed == 0
    first, second = read_rows(tmp_path / "out.csv")
    assert (first["truncated"], second["truncated"]) == ("true", "false")


def test_tabs_and_line_ends_from_json_do_not_break_a_table(writer: Writer, tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", [{"text": "A storm\tshuts\nschools", "x": {"a": [1, None, True]}}])
    run(writer, tmp_path / "in.jsonl", tmp_path / "out.tsv")
    (row,) = read_rows(tmp_path / "out.tsv")
    assert row["text"] == "A storm shuts schools"
    assert json.loads(row["x"]) == {"a": [1, None, True]}


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.parquet"])
def test_half_of_a_surrogate_pair_survives_or_is_replaced(writer: Writer, tmp_path: Path, name: str) -> None:
    write_text(tmp_path / "in.jsonl", '{"text": "A \\ud800 storm"}\n')
    assert run(writer, tmp_path / "in.jsonl", tmp_path / name).failed == 0
    (row,) = read_rows(tmp_path / name)
    assert row["text"] == {"out.jsonl": "A \ud800 storm"}.get(name, "A \ufffd storm")


def test_a_byte_order_mark_is_no_part_of_a_name(writer: Writer, tmp_path: Path) -> None:
    for name, text in (
        ("in.csv", "text\nA storm\n"),
        ("in.tsv", "text\nA storm\n"),
        ("in.jsonl", '{"text": "x"}'),
    ):
        write_text(tmp_path / name, "\ufeff" + text)
        assert run(writer, tmp_path / name, tmp_path / "out.jsonl").failed == 0


@pytest.mark.parametrize(
    "name", ["out.jsonl", "out.csv", "out.tsv", "out.txt", "out.jsonl.gz", "out.csv.zst", "out.tsv.xz"]
)
def test_a_stopped_run_goes_on_where_it_stopped(writer: Writer, tmp_path: Path, name: str) -> None:
    rows: Rows = [
        {"id": number, "text": text, "note": 'two\nlines "'} for number, text in enumerate(TEXTS[:5])
    ]
    write_rows(tmp_path / "in.jsonl", rows)
    target = tmp_path / name
    run(writer, tmp_path / "in.jsonl", target, Wish(4), Wish(3))
    whole, text = target.read_bytes(), read_text(target)
    cuts = [*range(0, len(whole), max(len(whole) // 40, 1)), len(whole) - 1, len(whole)]
    for cut in cuts:
        target.write_bytes(whole[:cut])
        tally = run(writer, tmp_path / "in.jsonl", target, Wish(4), Wish(3), resume=True)
        assert read_text(target) == text, cut
        assert (tally.rows == 0) >= (cut == len(whole))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", name]


def test_resuming_what_was_never_begun_begins(writer: Writer, tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", [{"text": TEXTS[0]}])
    assert run(writer, tmp_path / "in.jsonl", tmp_path / "out.jsonl", resume=True).rows == 1


def test_resuming_does_not_write_what_was_written_again(writer: Writer, tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", [{"text": text} for text in TEXTS[:3]])
    write_text(tmp_path / "out.jsonl", '{"headline": "by hand"}\n{"headl')
    assert run(writer, tmp_path / "in.jsonl", tmp_path / "out.jsonl", resume=True).rows == 2
    assert read_rows(tmp_path / "out.jsonl")[0] == {"headline": "by hand"}


def test_what_is_written_is_on_disk_after_every_chunk(tmp_path: Path) -> None:
    with open_sink(tmp_path / "out.jsonl") as sink:
        sink.write([{"headline": "one"}])
        assert read_rows(tmp_path / "out.jsonl") == [{"headline": "one"}]


@pytest.mark.parametrize("name", ["in.jsonl", "in.csv", "in.tsv", "in.txt", "in.jsonl.gz"])
def test_a_long_file_is_never_in_memory_as_a_whole(tmp_path: Path, name: str) -> None:
    write_rows(tmp_path / name, [{"text": f"{number} " + "A storm " * 500} for number in range(5_000)])
    tracemalloc.start()
    count = sum(1 for _ in read_input(tmp_path / name))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 5_000
    assert peak < 6_000_000
