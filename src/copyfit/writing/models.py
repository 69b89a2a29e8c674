"""Where a model is found when it is named."""

from collections.abc import Sequence
from pathlib import Path

from copyfit.errors import CheckpointError

Models = str | Path | Sequence[str | Path] | None
"""One model, or several that are to write together."""
BUNDLED: dict[str, Path] = {}
"""Models that come with the package, by name; there are none yet."""
HUB_FILES = ("*.json", "*.safetensors", "*.onnx", "*.txt", "*.md")
"""Every kind of file that a model folder has; nothing else of a repository is downloaded."""


def find_models(models: Models) -> list[Path]:
    """Return the folders of one or several models."""
    return [find_model(model) for model in _listed(models)]


def _listed(models: Models) -> Sequence[str | Path | None]:
    if isinstance(models, str | Path):
        return [models]
    return models or [None]


def find_model(model: str | Path | None) -> Path:
    """Return the folder of a model, given by path or by the name of a bundled one."""
    if model is None:
        raise CheckpointError(
            "no model comes with this version: give the folder of one (--model DIR); copyfit train makes one"
        )
    if str(model) in BUNDLED:
        return BUNDLED[str(model)]
    return Path(model)


def fetch_model(model: str | Path) -> Path:
    """Return the folder of a model, downloaded from the Hugging Face hub if it is no local one."""
    folder = find_model(model)
    owner, slash, name = str(model).partition("/")
    if folder.exists() or not (owner and slash and name) or "/" in name:
        return folder
    return _download(str(model))


def _download(identifier: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    except ModuleNotFoundError as problem:
        raise CheckpointError(
            f"{identifier} is no folder here; to download models: pip install 'copyfit[hf]'"
        ) from problem
    try:
        return Path(snapshot_download(identifier, allow_patterns=list(HUB_FILES)))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as problem:
        reason = str(problem).strip().splitlines()[0]
        raise CheckpointError(f"cannot download the model {identifier}: {reason}") from problem
