import sys
from collections.abc import Callable
from typing import TextIO

import pytest

from copyfit.cli import talk
from copyfit.environment import needing_extra, standard_input, standard_output
from copyfit.errors import ConfigError, DataError
from copyfit.writing.progress import reporter


@pytest.mark.parametrize("module", ["rich", "torch.nn", "accelerate.utils"])
def test_a_missing_library_of_the_extra_is_named_with_what_to_install(module: str) -> None:
    library = module.split(".")[0]
    with (
        pytest.raises(ConfigError, match=rf"\Atraining needs {library}: pip install 'copyfit\[train\]'\Z"),
        needing_extra("train", "training", ConfigError),
    ):
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)


@pytest.mark.parametrize("module", ["richer", "numpy", None])
def test_another_missing_module_is_not_laid_to_the_extra(module: str | None) -> None:
    with pytest.raises(ModuleNotFoundError), needing_extra("train", "training", ConfigError):
        raise ModuleNotFoundError(name=module)


@pytest.mark.parametrize(("stream", "get"), [("stdin", standard_input), ("stdout", standard_output)])
def test_a_closed_stream_is_told_when_it_is_needed(
    monkeypatch: pytest.MonkeyPatch, stream: str, get: Callable[[], TextIO]
) -> None:
    assert get() is getattr(sys, stream)
    monkeypatch.setattr(sys, stream, None)
    with pytest.raises(DataError, match="must be open, it is closed"):
        get()


def test_talk_without_streams_is_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    talk.flush()
    talk.note("nobody hears this")
    reporter(3, show=True)(1)
    with pytest.raises(DataError, match="standard output must be open"):
        talk.put("data")
