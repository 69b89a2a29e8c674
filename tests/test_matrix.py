"""A matrix says what a study is; mistakes in it are told in one line, and what it means has a hash."""

import re
from pathlib import Path

import pytest

from copyfit import bundled
from copyfit.config import read_toml
from copyfit.errors import ConfigError, DataError
from copyfit.experiments.design import recipe_key, runs_of, with_files
from copyfit.experiments.files import Files
from copyfit.experiments.matrix import MATRICES, Matrix, read_matrix
from copyfit.experiments.published import published
from support_studies import SMALL, small_matrix


@pytest.fixture
def matrix(tmp_path: Path) -> Matrix:
    return read_matrix(small_matrix(tmp_path))


@pytest.mark.parametrize("name", bundled.names(MATRICES))
def test_a_matrix_of_the_package_is_whole(name: str) -> None:
    matrix = read_matrix(name)
    assert matrix.name == name
    assert len(runs_of(matrix)) >= len(matrix.systems)
    for table in matrix.tables:
        columns = {column for row in published(table.published) for column in row.columns}
        assert columns.issuperset(column.published for column in table.columns)
        assert not table.published or columns


@pytest.mark.parametrize("name", ["tiny", "news-en", "paper-gigaword", "paper-duc2004", "paper-jamul"])
def test_every_row_of_a_published_table_but_of_other_studies_has_a_system(name: str) -> None:
    matrix = read_matrix(name)
    ours = {(system.section, system.label) for system in matrix.systems}
    for table in matrix.tables:
        rows = {(row.section, row.row) for row in published(table.published) if "studies" not in row.section}
        assert rows <= ours


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("seeds = [1]", "seed = [1]"), "unknown key 'systems.2.seed'"),
        (('of = "Transformer+LDPE"\nseeds', 'of = "LRPE"\nseeds'), "there is no system 'LRPE'"),
        (('tests = ["groups"]', 'tests = ["group"]'), "there is no test 'group', there are groups"),
        (('cell = "60"', 'cell = "61"'), "there is no cell of groups '61'"),
        (('name = "references"\n', 'name = "groups"\n'), "tests must have names of their own, 'groups'"),
        (("members = [1, 2]", "members = [1]"), "must be two or more seeds"),
        (("members = [1, 2]", 'members = [1, 2]\nset = ["a=1"]'), "leave out recipe and set"),
        (('cells = [{ name = "reference"', 'cut = "bytes"\ncells = [{ name = "reference"'), "needs cut_at"),
        (('kind = "variance"\ntest = "groups"', 'kind = "variance"\ntest = "g"'), "there is no test 'g'"),
    ],
)
def test_a_mistake_in_a_matrix_is_told_in_one_line(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    path = tmp_path / "wrong.toml"
    assert change[0] in SMALL
    path.write_text(SMALL.replace(*change), encoding="utf-8")
    with pytest.raises(ConfigError) as problem:
        read_matrix(path)
    assert message in str(problem.value)
    assert "\n" not in str(problem.value)


def test_a_name_that_the_package_does_not_have_is_told_with_those_it_has() -> None:
    with pytest.raises(ConfigError, match=r"a matrix must be a TOML file or one of .*tiny, given 'tinny'"):
        read_matrix("tinny")
    with pytest.raises(ConfigError, match="cannot read"):
        read_matrix("no/such.toml")
    with pytest.raises(ConfigError, match="a published table must be one of"):
        published("table 7")


def test_a_matrix_lists_its_runs_in_its_order(matrix: Matrix) -> None:
    found = [(run.title, len(run.recipes), run.is_trained) for run in runs_of(matrix)]
    assert found == [
        ("Transformer, seed 1", 1, True),
        ("Transformer+LDPE, seed 1", 1, True),
        ("Transformer+LDPE, seed 2", 1, True),
        ("Transformer+LDPE+Re-ranking, seed 1", 1, False),
        ("Transformer+LDPE+Ensemble (2 models), seeds 1, 2", 2, False),
        ("Transformer+LDPE for nothing, seed 1", 1, False),
        ("Transformer+LDPE for nothing, seed 2", 1, False),
    ]


def test_a_run_of_other_models_writes_with_exactly_these(matrix: Matrix) -> None:
    runs = {run.title: run for run in runs_of(matrix)}
    ldpe = [runs[f"Transformer+LDPE, seed {seed}"].recipes[0] for seed in (1, 2)]
    assert runs["Transformer+LDPE+Ensemble (2 models), seeds 1, 2"].recipes == tuple(ldpe)
    assert [recipe.seed for recipe in ldpe] == [1, 2]
    assert {recipe.name for recipe in ldpe} == {"Transformer+LDPE"}


def test_a_key_follows_from_what_an_outcome_follows_from(matrix: Matrix) -> None:
    recipe = runs_of(matrix)[0].recipes[0]
    same = [
        recipe.model_copy(update={"name": "other"}),
        with_files(recipe, [Path("elsewhere/train.tsv")], []),
        recipe.model_copy(update={"data": recipe.data.model_copy(update={"workers": 7})}),
    ]
    assert {recipe_key(each) for each in same} == {recipe_key(recipe)}
    others = [
        recipe.model_copy(update={"seed": 5}),
        recipe.model_copy(update={"training": recipe.training.model_copy(update={"steps": 13})}),
        recipe.model_copy(update={"model": recipe.model.model_copy(update={"dropout": 0.5})}),
    ]
    assert recipe_key(recipe) not in {recipe_key(each) for each in others}


def test_a_trial_has_the_key_of_what_it_follows_from(matrix: Matrix) -> None:
    first, ldpe, _, reranked = runs_of(matrix)[:4]
    test, other = matrix.tests[:2]
    key = first.trial_key(test)
    longer = (test.cells[0].model_copy(update={"length": 31}), *test.cells[1:])
    assert first.trial_key(test.model_copy(update={"batch_size": 7, "name": "other"})) == key
    assert ldpe.trial_key(test) != reranked.trial_key(test)
    for changed in (
        test.model_copy(update={"num_beams": 7}),
        test.model_copy(update={"cells": longer}),
        other,
    ):
        assert first.trial_key(changed) != key
    assert ldpe.trial_key(test) != key


def test_files_are_found_by_name_plain_or_compressed(tmp_path: Path, matrix: Matrix) -> None:
    for name in ("train.tsv", "validation.jsonl.xz", "test.csv.gz", "test.md"):
        (tmp_path / name).touch()
    inputs = Files(tmp_path).of(matrix)
    assert [path.name for path in (*inputs.train, *inputs.validation)] == ["train.tsv", "validation.jsonl.xz"]
    assert {name: path.name for name, path in inputs.tests.items()} == {
        "groups": "test.csv.gz",
        "references": "test.csv.gz",
    }


def test_files_that_are_missing_or_many_are_told(tmp_path: Path, matrix: Matrix) -> None:
    with pytest.raises(DataError, match="the folder of the data must be there"):
        Files(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"must have train \(tsv, .*it has none"):
        Files(tmp_path).of(matrix)
    for name in ("train.tsv", "validation.tsv", "test.tsv", "test.jsonl"):
        (tmp_path / name).touch()
    with pytest.raises(DataError, match=r"must have one test, it has .*test.jsonl and .*test.tsv"):
        Files(tmp_path).of(matrix)


@pytest.mark.parametrize("name", ["/etc/passwd", "tr**", "**", "a**/train"])
def test_names_that_cannot_be_looked_for_are_told(tmp_path: Path, matrix: Matrix, name: str) -> None:
    data = matrix.data.model_copy(update={"train": (name,)})
    with pytest.raises(
        DataError, match=f"must be names below the data's folder.* given {re.escape(repr(name))}"
    ):
        Files(tmp_path).of(matrix.model_copy(update={"data": data}))


def test_names_may_have_folders_of_any_depth(tmp_path: Path, matrix: Matrix) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for path in ("a/b/train-1.tsv", "a/train-2.tsv", "validation.tsv"):
        (tmp_path / path).touch()
    data = matrix.data.model_copy(update={"train": ("**/train-*",)})
    inputs = Files(tmp_path).of(matrix.model_copy(update={"data": data}))
    assert {path.name for path in inputs.train} == {"train-1.tsv", "train-2.tsv"}


def test_the_hash_of_pairs_follows_from_their_content(tmp_path: Path, matrix: Matrix) -> None:
    hashes = []
    for place, content in (("one", "a\tb\n"), ("two", "a\tb\n"), ("three", "a\tc\n")):
        folder = tmp_path / place
        folder.mkdir()
        (folder / "train.tsv").write_text(content, encoding="utf-8")
        (folder / "validation.tsv").write_text("x\ty\n", encoding="utf-8")
        hashes.append(Files(folder).of(matrix).pairs)
    assert hashes[0] == hashes[1] != hashes[2]


def test_settings_change_every_recipe(matrix: Matrix) -> None:
    for run in runs_of(matrix, ["training.steps=99"]):
        assert {recipe.training.steps for recipe in run.recipes} == {99}


def test_recipes_are_in_the_package_and_at_the_root() -> None:
    root = Path(__file__).parents[1] / "recipes"
    assert root.resolve() == bundled.RECIPES
    for name in bundled.names(bundled.RECIPES):
        assert bundled.find(name, bundled.RECIPES, "recipe") == bundled.RECIPES / f"{name}.toml"
    assert read_toml(MATRICES / "tiny.toml", Matrix) == read_matrix("tiny")
