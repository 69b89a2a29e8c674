"""Tables and figures say what the records say, beside what was published; absent runs show as absent."""

import csv
import io
import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from copyfit.errors import ConfigError, DataError
from copyfit.experiments.curves import Histogram, Point, curve
from copyfit.experiments.design import runs_of
from copyfit.experiments.figures import draw
from copyfit.experiments.grid import Figure, Grid, grid_of
from copyfit.experiments.latex import escaped, latex
from copyfit.experiments.markdown import details, markdown
from copyfit.experiments.matrix import Matrix, read_matrix
from copyfit.experiments.publish import publish_figures, publish_tables
from copyfit.experiments.published import published
from copyfit.experiments.records import Records
from copyfit.experiments.results import Results, merged_signature
from copyfit.experiments.styles import STYLES, style_of
from support_studies import cell_record, record_test, record_training, run_of, small_matrix

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def matrix(tmp_path: Path) -> Matrix:
    return read_matrix(small_matrix(tmp_path))


@pytest.fixture
def results(tmp_path: Path, matrix: Matrix) -> Results:
    """Record the plain Transformer once and LDPE with two seeds; the rest is absent."""
    records = Records(tmp_path / "records")
    runs = runs_of(matrix)
    groups, references, _ = matrix.tests
    for system, seed, recall, variance in (
        ("Transformer", 1, 0.1, 100.0),
        ("Transformer+LDPE", 1, 0.20, 0.0),
        ("Transformer+LDPE", 2, 0.23, 0.5),
    ):
        run = run_of(runs, system, seed)
        cells = {
            "30": cell_record(recall, variance),
            "60": cell_record(recall / 2, variance + 1, length=60),
        }
        record_test(records, run, groups, cells)
        over = {-3: 1, 0: 4} if system == "Transformer" else {0: 5}
        record_test(records, run, references, {"reference": cell_record(recall, variance, differences=over)})
        record_training(records, run)
    return Results(matrix, (), records)


def grid(results: Results, name: str) -> Grid:
    return grid_of(next(table for table in results.matrix.tables if table.name == name), results)


def cells_of(table: str) -> dict[str, list[str]]:
    """Read the rows of a Markdown table by an independent path; of equal names the first counts."""
    found: dict[str, list[str]] = {}
    for line in table.splitlines():
        if line.startswith("| "):
            name, *cells = next(csv.reader(io.StringIO(line.strip("| ").replace(" | ", ",")), strict=True))
            found.setdefault(name, [cell.strip(" |") for cell in cells])
    return found


def test_a_table_shows_the_mean_over_seeds_its_spread_and_the_published_figure(results: Results) -> None:
    rows = cells_of(markdown(grid(results, "groups")))
    # Cut texts are scored, whose recall was made twice that of whole ones: 40 and 46 percent.
    assert rows["Transformer+LDPE"][:3] == [f"**43.00** ± 4.24 ({known})" for known in (47.26, 26.98, 45.77)]
    assert rows["Transformer"][0] == "20.00 (47.48)"
    assert rows["Transformer"][3] == "10.00"


def test_what_was_not_run_shows_as_absent_and_other_studies_with_theirs_only(results: Results) -> None:
    rows = cells_of(markdown(grid(results, "groups")))
    assert rows["LenInit"][0] == "– (44.58)"
    assert rows["+Re-ranking"][0] == "–"
    assert cells_of(markdown(grid(results, "variance")))["Transformer"] == ["100.000 (193.119)", "–"]


def test_a_row_that_extends_another_is_called_by_what_it_adds(results: Results) -> None:
    sections = dict(grid(results, "groups").sections())
    assert [row.label for row in sections["Proposed method"]] == [
        "Transformer+LDPE",
        "+Re-ranking",
        "+Ensemble (2 models)",
        "+PE",
        "Transformer+LRPE",
        "+PE",
    ]


def test_records_of_several_versions_of_the_code_are_counted(results: Results, tmp_path: Path) -> None:
    assert results.versions() == 1
    records = Records(tmp_path / "first")
    record = record_test(records, results.runs[0], results.matrix.tests[0], {"30": cell_record(0.1, 1.0)})
    newer = record.model_copy(update={"made": record.made.model_copy(update={"code": "newer"})})
    other = Records(tmp_path / "others")
    other.add(newer, "newer")
    record_training(other, results.runs[0])
    assert Results(results.matrix, (), other).versions() == 2


def test_the_least_variance_is_the_best_and_the_greatest_recall(results: Results) -> None:
    assert [figure.mean for figure in grid(results, "variance").rows[0].figures] == [100.0, None]
    assert "**0.250** ± 0.354 (0.015)" in markdown(grid(results, "variance"))
    assert "{\\bf 43.00}\\,$\\pm$\\,4.24 {\\scriptsize(47.26)}" in latex(grid(results, "groups"))


def test_a_caption_says_how_many_items_and_what_decides_on_the_scores(results: Results) -> None:
    caption = grid(results, "groups").caption
    assert "n = 5." in caption
    assert "Signature: length:30,60|limit:30 bytes,60 bytes" in caption
    assert "Takase and Naoaki Okazaki. 2019" in caption


def test_without_any_record_tables_are_there_and_no_figures(matrix: Matrix, tmp_path: Path) -> None:
    results = Results(matrix, (), Records(tmp_path))
    assert "Nothing is recorded yet." in grid(results, "groups").caption
    assert publish_tables(results, tmp_path / "tables")
    publish_figures(results, tmp_path / "tables")
    assert not list((tmp_path / "tables").glob("*.png"))


def test_latex_has_as_many_cells_in_every_row(results: Results) -> None:
    for name, width in (("groups", 7), ("variance", 3)):
        text = latex(grid(results, name))
        assert text.count("{") == text.count("}")
        for line in text.splitlines():
            if line.endswith((r"\\", r"\\ \hline")):
                spans = [int(span) for span in re.findall(r"\\multicolumn\{(\d+)\}", line)]
                assert line.count(" & ") + 1 + sum(span - 1 for span in spans) == width


def test_latex_shows_every_mark_as_it_is() -> None:
    assert escaped(r"a_b & 5 % {x} \y ~^|–±#$") == (
        r"a\_b \& 5 \% \{x\} \textbackslash{}y \textasciitilde{}\textasciicircum{}\textbar{}--$\pm$\#\$"
    )


def test_the_details_have_limits_trainings_and_signatures(results: Results) -> None:
    text = details(results)
    assert "20.00 (19.00–22.00)" in text
    assert "0.500 (0.250–0.750)" in text
    assert "| Transformer | 1 | 1,234 | 5,678 | 12 | 0.50 | 3 | 1.2500 | cpu | c0ffee |" in text
    assert "- `length:60|limit:no`" in text


def test_signatures_are_merged_part_by_part() -> None:
    assert merged_signature(["a:1|b:2|ROUGE", "a:1|b:3|ROUGE"]) == "a:1|b:2,3|ROUGE"


def test_a_spread_needs_two_seeds() -> None:
    assert Figure((2.0,)).spread is None
    assert Figure((1.0, 3.0)).spread == pytest.approx(2**0.5)
    assert Figure().mean is None


def test_tables_are_written_as_markdown_and_latex(results: Results, tmp_path: Path) -> None:
    tables = publish_tables(results, tmp_path / "tables")
    names = {path.name for path in (tmp_path / "tables").iterdir()}
    assert names == {"groups.md", "groups.tex", "variance.md", "variance.tex", "details.md"}
    assert (tmp_path / "tables" / "groups.md").read_text(encoding="utf-8") == tables[0]
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot write to"):
        publish_tables(results, tmp_path / "file")


def test_figures_have_titles_units_and_systems(results: Results, tmp_path: Path) -> None:
    publish_figures(results, tmp_path)
    assert {path.name for path in tmp_path.glob("*.[ps][nv]g")} == {
        f"{name}.{kind}" for name in ("differences", "by-length") for kind in ("png", "svg")
    }
    for name, wanted in (
        ("differences", ["Differences in length", "characters", "share of the outputs (%)", "exact 80 %"]),
        ("by-length", ["Variance by length", "variance (characters²)", "Rivals", "dashed: lengths left out"]),
    ):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(PNG)
        drawn = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        for text in [*wanted, "Transformer+LDPE"]:
            assert text in drawn


def test_a_figure_is_drawn_the_same_again(results: Results) -> None:
    for figure in results.matrix.figures:
        assert draw(figure, results) == draw(figure, results)


def test_a_curve_is_the_mean_over_seeds_at_each_length(results: Results) -> None:
    figure = next(figure for figure in results.matrix.figures if figure.name == "by-length")
    assert curve("Transformer+LDPE", figure, results) == [
        Point(30, 0.25, 0.0, 0.5),
        Point(60, 1.25, 1.0, 1.5),
    ]


def test_a_histogram_is_what_its_counts_are() -> None:
    histogram = Histogram("x", Counter({-50: 1, -2: 1, 0: 4, 1: 2, 4: 2}))
    assert histogram.variance == pytest.approx((2500 + 4 + 2 + 32) / 10)
    assert histogram.exact == pytest.approx(0.4)
    places, shares = histogram.shares(limit=6, width=3)
    assert places == [-6, -3, 0, 3, 6]
    assert shares == pytest.approx([0.1, 0.1, 0.6, 0.2, 0.0])


def test_every_system_has_a_look_of_its_own_in_grey_too() -> None:
    assert len({style.colour for style in STYLES.values()}) == len(STYLES)
    assert len({(style.marker, style.line) for style in STYLES.values()}) == len(STYLES)


def test_a_look_follows_from_the_name_alone() -> None:
    assert style_of("Transformer+LDPE, lengths left out").colour == style_of("Transformer+LDPE").colour
    assert style_of("Transformer+LDPE, lengths left out") != style_of("Transformer+LDPE")
    assert style_of("a new system") == style_of("a new system")


def test_without_matplotlib_there_is_one_line(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "copyfit.experiments.figures")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        ConfigError, match=r"drawing figures needs matplotlib: pip install 'copyfit\[plots\]'"
    ):
        publish_figures(results, Path())


def test_published_figures_are_those_of_the_paper() -> None:
    assert json.dumps(published("duc2004")[-1]).endswith('{"75": {"R1": 29.33, "R2": 10.24, "RL": 25.24}}]')
    assert len(published("variance")) == 11
