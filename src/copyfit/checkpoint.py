"""A model as a folder: plain JSON, safetensors and text; never a pickle."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from pydantic import Field
from safetensors import SafetensorError

from copyfit import __version__
from copyfit.config import Section, check
from copyfit.errors import CheckpointError, ConfigError, CopyfitError
from copyfit.folders import sync
from copyfit.models.config import AnyModelSection, ModelSection
from copyfit.text.tokenizer import SourceTokenizer
from copyfit.text.units import check_unit
from copyfit.text.vocabulary import TargetVocabulary
from copyfit.text.words import WordList

FORMAT = 1
CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
SOURCE, TARGET, WORDS = "source_tokenizer.json", "target_tokenizer.json", "words.txt"
START_GRAPH, ADVANCE_GRAPH = "start.onnx", "advance.onnx"
GRAPHS = (START_GRAPH, ADVANCE_GRAPH)
"""What an exported model has in the place of its weights: how a search begins, and how it goes on."""
PICKLE_ENDINGS = frozenset({".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle"})
PICKLE_MAGIC = (b"PK\x03\x04", *(bytes([0x80, protocol]) for protocol in range(2, 6)))
"""A PyTorch file is a zip of pickles, or a pickle, which begins with its protocol."""
AGAIN = "copy or download the whole folder again"

Fact = str | int | float
"""What a model card may state."""


class FileRecord(Section):
    """Say what a file of a checkpoint must be."""

    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    bytes: int = Field(ge=0)


class CheckpointConfig(Section):
    """Hold what config.json says."""

    format: int
    copyfit: str
    name: str
    unit: str
    natural_length: int = Field(ge=1)
    longest_source: int = Field(ge=1)
    source_size: int
    target_size: int
    parameters: int
    model: AnyModelSection
    files: dict[str, FileRecord]
    facts: dict[str, Fact] = Field(default_factory=dict)

    @property
    def is_exported(self) -> bool:
        """Tell whether the folder holds graphs in the place of weights."""
        return bool(set(GRAPHS) & set(self.files))

    def large_files(self) -> tuple[str, ...]:
        """Return the names of the files that are read only when the model is run."""
        return GRAPHS if self.is_exported else (WEIGHTS,)


@dataclass(frozen=True)
class Checkpoint:
    """Hold everything of a model but its weights."""

    name: str
    model: ModelSection
    unit: str
    """What the model was trained to count."""
    source: SourceTokenizer
    target: TargetVocabulary
    words: WordList
    natural_length: int
    """The median length of the targets it was trained on, in `unit`."""
    longest_source: int
    """How many source tokens it reads; the rest of a longer source is not seen."""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    """What the model card states of its training: title to value."""


def save_checkpoint(
    directory: Path, checkpoint: Checkpoint, weights: Mapping[str, NDArray[np.generic]]
) -> None:
    """Write a checkpoint in one move: a stop at any moment leaves the old one or the new one."""
    arrays = {name: np.ascontiguousarray(weights[name]) for name in sorted(weights)}
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise CheckpointError(f"weights must be finite numbers, {name} is not; train with a lower rate")
    model = {WEIGHTS: safetensors.numpy.save(arrays)}
    _save(directory, _contents(checkpoint, model, _parameters(arrays.values())))


def save_exported(
    directory: Path, checkpoint: Checkpoint, graphs: Mapping[str, bytes], *, parameters: int
) -> None:
    """Write a checkpoint of graphs, by the names of `GRAPHS`, in one move."""
    _save(directory, _contents(checkpoint, graphs, parameters))


def _save(directory: Path, contents: Mapping[str, bytes]) -> None:
    directory = directory.resolve()
    if directory.exists() and not _replaceable(directory):
        raise CheckpointError(f"{directory} must be a new, an empty or a model folder; choose another one")
    try:
        _replace(directory, contents)
    except OSError as problem:
        raise CheckpointError(f"cannot write the model to {directory}: {problem.strerror}") from problem


def _replaceable(directory: Path) -> bool:
    return directory.is_dir() and ((directory / CONFIG).exists() or not any(directory.iterdir()))


def _contents(checkpoint: Checkpoint, model: Mapping[str, bytes], parameters: int) -> dict[str, bytes]:
    files = {
        **model,
        SOURCE: checkpoint.source.to_json().encode(),
        TARGET: checkpoint.target.to_json().encode(),
        WORDS: checkpoint.words.to_text().encode(),
    }
    config = CheckpointConfig(
        format=FORMAT,
        copyfit=__version__,
        name=checkpoint.name,
        unit=checkpoint.unit,
        natural_length=checkpoint.natural_length,
        longest_source=checkpoint.longest_source,
        source_size=checkpoint.source.size,
        target_size=checkpoint.target.size,
        parameters=parameters,
        model=checkpoint.model,
        files={name: _record(content) for name, content in files.items()},
        facts=dict(checkpoint.facts),
    )
    text = json.dumps(config.model_dump(mode="json"), ensure_ascii=False, indent=2)
    return {**files, CARD: model_card(config).encode(), CONFIG: f"{text}\n".encode()}


def _parameters(arrays: Iterable[NDArray[np.generic]]) -> int:
    """Count numbers; a tied table, which may have two names, once."""
    tables, rest = {}, 0
    for array in arrays:
        if array.ndim > 1:
            tables[array.shape, hashlib.sha256(array.data).digest()] = array.size
        else:
            rest += array.size
    return sum(tables.values()) + rest


def _record(content: bytes) -> FileRecord:
    return FileRecord(sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))


def _replace(directory: Path, files: Mapping[str, bytes]) -> None:
    directory.parent.mkdir(parents=True, exist_ok=True)
    fresh, previous = _beside(directory, "new"), _beside(directory, "previous")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        fresh.mkdir()
        for name, content in files.items():
            _write(fresh / name, content)
        sync(fresh)
        if directory.exists():
            shutil.rmtree(previous, ignore_errors=True)
            directory.rename(previous)
        fresh.rename(directory)
        sync(directory.parent)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    shutil.rmtree(previous, ignore_errors=True)


def _beside(directory: Path, role: str) -> Path:
    return directory.with_name(f".{directory.name}.{role}")


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def read_config(directory: Path) -> CheckpointConfig:
    """Read what a checkpoint says of itself, without its weights and vocabularies."""
    path = _folder(directory) / CONFIG
    try:
        values = json.loads(_read(path))
    except ValueError as problem:
        raise CheckpointError(f"{path} must be JSON: {problem}; {AGAIN}") from problem
    version = values.get("format") if isinstance(values, dict) else None
    if version != FORMAT:
        raise CheckpointError(
            f"{path}: format must be {FORMAT}, given {version!r}; use the copyfit that wrote the folder"
        )
    try:
        config = check(values, CheckpointConfig, where=str(path))
    except ConfigError as problem:
        raise CheckpointError(str(problem)) from problem
    missing = {*config.large_files(), SOURCE, TARGET, WORDS} - set(config.files)
    if missing:
        raise CheckpointError(f"{path}: files must name {', '.join(sorted(missing))}; {AGAIN}")
    return config


def open_checkpoint(directory: Path) -> Checkpoint:
    """Read a checkpoint's vocabularies and settings, and check that they belong together."""
    config = read_config(directory)
    folder = _folder(directory)
    contents = {name: _verified(folder, name, config) for name in (SOURCE, TARGET, WORDS)}
    for name in config.large_files():
        _check_size(folder / name, config.files[name])
    try:
        texts = {name: content.decode() for name, content in contents.items()}
        checkpoint = Checkpoint(
            name=config.name,
            model=config.model,
            unit=check_unit(config.unit),
            source=SourceTokenizer.from_json(texts[SOURCE]),
            target=TargetVocabulary.from_json(texts[TARGET]),
            words=WordList.from_text(texts[WORDS]),
            natural_length=config.natural_length,
            longest_source=config.longest_source,
            facts=config.facts,
        )
    except (CopyfitError, ValueError, KeyError, TypeError) as problem:
        raise CheckpointError(f"{folder} cannot be used: {problem}; {AGAIN}") from problem
    _check_sizes(folder, config, checkpoint)
    return checkpoint


def _check_sizes(folder: Path, config: CheckpointConfig, checkpoint: Checkpoint) -> None:
    for file, recorded, actual in (
        (SOURCE, config.source_size, checkpoint.source.size),
        (TARGET, config.target_size, checkpoint.target.size),
    ):
        if recorded != actual:
            raise CheckpointError(
                f"{folder}: {file} must hold the {recorded} tokens of {CONFIG}, it holds {actual}; {AGAIN}"
            )


def load_weights(directory: Path) -> dict[str, NDArray[Any]]:
    """Read the weights, whole and unchanged since they were saved, or not at all."""
    config = read_config(directory)
    folder = _folder(directory)
    if config.is_exported:
        raise CheckpointError(
            f"{directory} holds graphs, which can only be run; give the folder that it was exported from"
        )
    content = _verified(folder, WEIGHTS, config)
    try:
        weights = safetensors.numpy.load(content)
    except (SafetensorError, KeyError, ValueError, TypeError) as problem:
        raise CheckpointError(
            f"{folder / WEIGHTS} must be a safetensors file: {problem}; {AGAIN}"
        ) from problem
    for name, array in weights.items():
        if not np.isfinite(array).all():
            raise CheckpointError(f"{folder / WEIGHTS}: weights must be finite numbers, {name} is not")
    return weights


def load_graphs(directory: Path) -> dict[str, bytes]:
    """Read the graphs of an exported model, whole and unchanged since they were saved, or not at all."""
    config = read_config(directory)
    folder = _folder(directory)
    if not config.is_exported:
        raise CheckpointError(f"{directory} holds weights, no graphs; copyfit export makes them")
    return {name: _verified(folder, name, config) for name in GRAPHS}


def _folder(directory: Path) -> Path:
    """Find the folder; a save that was stopped between its two renames left the old one beside it."""
    previous = _beside(directory.resolve(), "previous")
    if not directory.exists() and previous.is_dir():
        return previous
    if directory.is_dir():
        return directory
    if directory.suffix.lower() in PICKLE_ENDINGS:
        raise CheckpointError(_pickle_refused(directory))
    given = "is a file" if directory.exists() else "does not exist"
    raise CheckpointError(f"a model must be a folder with {CONFIG} and {WEIGHTS}: {directory} {given}")


def _pickle_refused(path: Path) -> str:
    return f"{path} is a pickle, which can run code when opened: copyfit reads weights from {WEIGHTS} only"


def _read(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except FileNotFoundError as problem:
        raise CheckpointError(_missing(path)) from problem
    except OSError as problem:
        raise CheckpointError(f"cannot read {path}: {problem.strerror}") from problem
    if path.name == WEIGHTS:
        _refuse_pickle(path, content[:9])
    return content


def _refuse_pickle(path: Path, head: bytes) -> None:
    # Eight bytes of length and a brace begin a safetensors file; the length may look like a pickle.
    if head.startswith(PICKLE_MAGIC) and head[8:9] != b"{":
        raise CheckpointError(_pickle_refused(path))


def _missing(path: Path) -> str:
    best = path.parent / "best"
    if path.name == CONFIG and (best / CONFIG).is_file():
        return f"a model must be a folder with {CONFIG}: {path.parent} is a run, did you mean {best}"
    pickles = [file for file in sorted(path.parent.iterdir()) if file.suffix.lower() in PICKLE_ENDINGS]
    if pickles and path.name in {WEIGHTS, CONFIG}:
        return _pickle_refused(pickles[0])
    return f"the model folder {path.parent} must hold {path.name}, which is missing; {AGAIN}"


def _check_size(path: Path, record: FileRecord) -> None:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            _refuse_pickle(path, file.read(9))
    except FileNotFoundError as problem:
        raise CheckpointError(_missing(path)) from problem
    except OSError as problem:
        raise CheckpointError(f"cannot read {path}: {problem.strerror}") from problem
    if size != record.bytes:
        raise CheckpointError(_cut_short(path, record, size))


def _cut_short(path: Path, record: FileRecord, size: int) -> str:
    return f"{path} must have {record.bytes} bytes, it has {size}; {AGAIN}"


def _verified(folder: Path, name: str, config: CheckpointConfig) -> bytes:
    record = config.files[name]
    content = _read(folder / name)
    if len(content) != record.bytes:
        raise CheckpointError(_cut_short(folder / name, record, len(content)))
    if hashlib.sha256(content).hexdigest() != record.sha256:
        raise CheckpointError(f"{folder / name} is damaged: its SHA-256 is not the one in {CONFIG}; {AGAIN}")
    return content


def model_card(config: CheckpointConfig) -> str:
    """Write the README.md of a checkpoint."""
    rows = {
        "Architecture": f"{config.model.architecture}, {config.model.describe()}",
        "Parameters": f"{config.parameters:,}",
        "Trained to count": config.unit,
        "Natural length": f"{config.natural_length} {config.unit}",
        "Longest source": f"{config.longest_source} tokens",
        "Vocabularies": f"{config.source_size} source tokens, {config.target_size} target tokens",
        **{title: str(value) for title, value in config.facts.items()},
        "Written by": f"copyfit {config.copyfit}",
    }
    table = "\n".join(f"| {_cell(title)} | {_cell(value)} |" for title, value in rows.items())
    return (
        f"---\nlibrary_name: copyfit\npipeline_tag: summarization\n---\n\n# {_cell(config.name)}\n\n"
        "Writes headlines that fit a budget of characters, bytes, cells or words.\n\n"
        f"| | |\n|---|---|\n{table}\n\n"
        "```python\nfrom copyfit import Writer\n\n"
        f'Writer("path/to/this/folder")("The article ...", length={config.natural_length})\n```\n'
    )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
