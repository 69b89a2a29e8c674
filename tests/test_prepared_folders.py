"""Prepared data that are there already: taken, left alone or refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from copyfit.config import check
from copyfit.data.prepare import DataSection, prepare, prepare_with
from copyfit.data.prepared import open_prepared
from copyfit.errors import ConfigError, DataError
from support_prepare import CHARACTERS, SOURCE, SUBWORDS, Rows, invented, texts_of


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, Rows], str]:
    def write_rows(name: str, rows: Rows) -> str:
        path = tmp_path / name
        path.write_text("".join("\t".join(row) + "\n" for row in rows))
        return str(path)

    return write_rows


def test_prepared_data_are_taken_as_they_are(tmp_path: Path, write: Callable[[str, Rows], str]) -> None:
    section = DataSection(train=(write("a.tsv", invented(30)),))
    first = prepare(section, SOURCE, CHARACTERS, tmp_path / "out")
    stamp = (first.path / "prepared.json").stat().st_mtime_ns
    again = prepare(section.model_copy(update={"workers": 3}), SOURCE, CHARACTERS, tmp_path / "out")
    assert texts_of(again, again.train) == texts_of(first, first.train)
    assert (first.path / "prepared.json").stat().st_mtime_ns == stamp
    reused = prepare_with(section, first.tokenizers, tmp_path / "with")
    prepare_with(section, first.tokenizers, tmp_path / "with")
    assert texts_of(reused, reused.train) == texts_of(first, first.train)


def test_data_of_another_recipe_or_of_changed_files_are_left_alone(
    tmp_path: Path, write: Callable[[str, Rows], str]
) -> None:
    section = DataSection(train=(write("a.tsv", invented(30)),))
    prepare(section, SOURCE, CHARACTERS, tmp_path / "out")
    for change in ({"unit": "byte"}, {"longest_source": 5}):
        with pytest.raises(DataError, match="holds data of another recipe"):
            prepare(section.model_copy(update=change), SOURCE, CHARACTERS, tmp_path / "out")
    with pytest.raises(DataError, match="holds data of another recipe"):
        prepare(section, SOURCE, SUBWORDS, tmp_path / "out")
    write("a.tsv", invented(29))
    with pytest.raises(DataError, match="holds data of another recipe or of other files"):
        prepare(section, SOURCE, CHARACTERS, tmp_path / "out")


def test_an_empty_folder_is_as_good_as_none(tmp_path: Path, write: Callable[[str, Rows], str]) -> None:
    (tmp_path / "out").mkdir()
    section = DataSection(train=(write("a.tsv", invented(30)),))
    assert prepare(section, SOURCE, CHARACTERS, tmp_path / "out").train.manifest.pairs == 30


def test_a_folder_of_something_else_is_refused(tmp_path: Path, write: Callable[[str, Rows], str]) -> None:
    section = DataSection(train=(write("a.tsv", invented(30)),))
    with pytest.raises(DataError, match="must be a folder of prepared data"):
        prepare(section, SOURCE, CHARACTERS, tmp_path)
    with pytest.raises(DataError, match="must be a folder of prepared data"):
        prepare(section, SOURCE, CHARACTERS, tmp_path / "a.tsv")


def test_a_changed_tokenizer_file_is_refused(tmp_path: Path, write: Callable[[str, Rows], str]) -> None:
    prepare(DataSection(train=(write("a.tsv", invented(30)),)), SOURCE, CHARACTERS, tmp_path / "out")
    path = tmp_path / "out" / "source_tokenizer.json"
    path.write_text(path.read_text() + " ")
    with pytest.raises(DataError, match=r"source_tokenizer\.json must be as it was written"):
        open_prepared(tmp_path / "out")


def test_the_manifest_names_unit_recipe_and_tokenizers(
    tmp_path: Path, write: Callable[[str, Rows], str]
) -> None:
    section = DataSection(train=(write("a.tsv", invented(30)),), unit="word")
    prepare(section, SOURCE, CHARACTERS, tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "train" / "manifest.json").read_text())
    assert manifest["unit"] == "word"
    assert set(manifest["tokenizers"]) == {"source", "target"}
    assert all(len(hashed) == 64 for hashed in (manifest["recipe"], *manifest["tokenizers"].values()))
    assert open_prepared(tmp_path / "out", verify=True).train.manifest.model_dump(mode="json") == manifest


def test_an_unknown_unit_is_told_with_the_closest_one() -> None:
    with pytest.raises(ConfigError, match=r"recipe: unit: .*did you mean 'char'"):
        check({"train": ["a.tsv"], "unit": "chra"}, DataSection, where="recipe")
