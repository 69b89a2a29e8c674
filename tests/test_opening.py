"""Where models come from, and what is loaded when."""

import subprocess
import sys
from pathlib import Path

import pytest

import copyfit
from copyfit.errors import CheckpointError
from copyfit.text.presets import PRESETS
from copyfit.writing.models import fetch_model
from copyfit.writing.writer import Writer
from support_writing import ARTICLE, save_tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "subword")


def test_a_model_is_opened_by_path_and_by_from_pretrained(folder: Path) -> None:
    expected = Writer(str(folder), device="cpu", engine="torch")(ARTICLE, length=12)
    assert Writer.from_pretrained(folder, device="cpu")(ARTICLE, length=12) == expected


def test_without_a_model_there_is_one_line_on_what_to_do() -> None:
    with pytest.raises(CheckpointError, match="give the folder of one"):
        Writer()


def test_a_name_that_is_no_folder_is_refused() -> None:
    with pytest.raises(CheckpointError, match="a model must be a folder"):
        Writer("news-en")
    with pytest.raises(CheckpointError, match="a model must be a folder"):
        Writer.from_pretrained("/nowhere/at/all")


def test_a_model_of_the_hub_is_taken_from_its_cache(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    cached = tmp_path / "models--someone--tiny"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text("abc")
    (cached / "snapshots").mkdir()
    (cached / "snapshots" / "abc").symlink_to(folder)
    assert fetch_model("someone/tiny").resolve() == folder.resolve()
    with pytest.raises(CheckpointError, match="cannot download the model someone/else: "):
        fetch_model("someone/else")


def test_without_the_hub_library_a_hub_name_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(CheckpointError, match=r"pip install 'copyfit\[hf\]'"):
        fetch_model("someone/tiny")


def test_the_package_offers_its_few_names_lazily() -> None:
    assert copyfit.count("日本", "cell") == 4
    assert copyfit.presets() == PRESETS
    assert copyfit.Writer is Writer
    with pytest.raises(AttributeError, match="has no attribute 'Reader'"):
        getattr(copyfit, "Reader")  # noqa: B009 - the attribute must not be known to the type checker


def test_importing_the_package_loads_no_heavy_library() -> None:
    heavy = "{'torch', 'onnxruntime', 'numpy', 'pydantic', 'tokenizers', 'pyarrow'}"
    script = f"import copyfit, sys; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "[]\n"


def test_importing_the_writer_does_not_load_pytorch() -> None:
    script = "from copyfit import Writer; import sys; print({'torch', 'onnxruntime'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "set()\n"
