"""Encoded pairs on disk: flat arrays, mapped into memory, and a manifest of what they are."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from pydantic import ValidationError

from copyfit.config import Section
from copyfit.data.accounts import Account
from copyfit.data.ragged import Integers, Ragged
from copyfit.errors import DataError
from copyfit.folders import complete_or_absent

FORMAT = 1
MANIFEST = "manifest.json"
_BLOCK = 1 << 20


@dataclass(frozen=True)
class EncodedPairs:
    """Hold pairs as token ids; several targets of one source share it.

    `targets[k]` and `costs[k]` are the k-th segmentation of all targets, 0 the canonical one.
    """

    sources: Ragged
    source_of: Integers
    """The row in `sources` of each pair."""
    budgets: Integers
    """What each pair's whole target costs."""
    targets: tuple[Ragged, ...]
    costs: tuple[Integers, ...]
    """What each target token costs; lies as the values of `targets` do."""

    def __len__(self) -> int:
        return len(self.source_of)

    def select(self, kept: NDArray[np.bool_]) -> "EncodedPairs":
        """Copy the pairs that are kept, and the sources that they need."""
        pairs = np.flatnonzero(kept)
        sources, source_of = np.unique(self.source_of[pairs], return_inverse=True)
        return EncodedPairs(
            self.sources.take(sources),
            source_of,
            self.budgets[pairs],
            tuple(variant.take(pairs) for variant in self.targets),
            tuple(
                cost[variant.places(pairs)] for variant, cost in zip(self.targets, self.costs, strict=True)
            ),
        )


class StoredFile(Section):
    """Describe one array of a store."""

    dtype: str
    length: int
    sha256: str


class Manifest(Section):
    """Say what a store holds, what it was made from and what was left out."""

    format: int = FORMAT
    unit: str
    recipe: str
    """Hash of the recipe and of the files the pairs were read from."""
    tokenizers: dict[str, str]
    """Hashes of the source tokenizer and the target vocabulary."""
    segmentations: int
    """How many sampled segmentations of the targets there are besides the canonical one."""
    sources: int
    pairs: int
    source_tokens: int
    target_tokens: int
    longest_source: int
    longest_target: int
    natural_length: int
    """The median budget."""
    dropped: dict[str, int]
    files: dict[str, StoredFile]

    def account(self, part: str) -> Account:
        """Tell what was read for it, kept and dropped."""
        return Account(part, self.pairs + sum(self.dropped.values()), self.dropped)


class Store(NamedTuple):
    """Be an open store: its pairs, mapped into memory, and its manifest."""

    path: Path
    manifest: Manifest
    pairs: EncodedPairs


class Provenance(NamedTuple):
    """Say what the pairs of a store were made from."""

    unit: str
    recipe: str
    tokenizers: Mapping[str, str]


class TokenTypes(NamedTuple):
    """Choose the integers a store keeps its tokens and costs in."""

    source: DTypeLike
    target: DTypeLike
    cost: DTypeLike


def smallest_unsigned(greatest: int) -> DTypeLike:
    """Return the smallest unsigned type that holds a number."""
    return np.min_scalar_type(greatest)


def sha256_of(path: Path) -> str:
    """Hash a file's content."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder that becomes `path` when all went well, and vanishes when not."""
    try:
        with complete_or_absent(path) as partial:
            yield partial
    except OSError as problem:
        raise DataError(f"cannot write {path}: {problem.strerror or problem}") from problem


class _Column:
    """Append to one flat file and hash what passes."""

    def __init__(self, stream: BinaryIO, dtype: DTypeLike) -> None:
        self._stream = stream
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._hash = hashlib.sha256()
        self._length = 0

    def append(self, values: Integers) -> None:
        data = values.astype(self._dtype).tobytes()
        self._stream.write(data)
        self._hash.update(data)
        self._length += len(values)

    def facts(self) -> StoredFile:
        return StoredFile(dtype=self._dtype.str, length=self._length, sha256=self._hash.hexdigest())


class _RaggedColumn:
    """Append rows to a file of values and a file of offsets."""

    def __init__(self, values: _Column, offsets: _Column) -> None:
        self._values, self._offsets = values, offsets
        self._offsets.append(np.zeros(1, np.int64))
        self.rows = self.tokens = self.longest = 0

    def append(self, ragged: Ragged) -> None:
        self._values.append(ragged.values)
        self._offsets.append(ragged.offsets[1:] + self.tokens)
        self.rows += len(ragged)
        self.tokens += len(ragged.values)
        self.longest = max(self.longest, int(ragged.lengths().max(initial=0)))


class StoreWriter:
    """Write a store stretch by stretch into an existing folder; `finish` makes it one."""

    def __init__(self, folder: Path, types: TokenTypes, *, segmentations: int) -> None:
        self._folder = folder
        self._open = ExitStack()
        self._columns: dict[str, _Column] = {}
        variants = range(segmentations + 1)
        self._sources = self._ragged("source", types.source)
        self._source_of = self._column("source_of", np.int64)
        self._budgets = self._column("budget", np.int32)
        self._targets = [self._ragged(f"target-{variant}", types.target) for variant in variants]
        self._costs = [self._column(f"cost-{variant}", types.cost) for variant in variants]

    def __enter__(self) -> "StoreWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _column(self, name: str, dtype: DTypeLike) -> _Column:
        stream = self._open.enter_context((self._folder / f"{name}.bin").open("wb"))
        self._columns[name] = _Column(stream, dtype)
        return self._columns[name]

    def _ragged(self, name: str, dtype: DTypeLike) -> _RaggedColumn:
        return _RaggedColumn(self._column(name, dtype), self._column(f"{name}_offsets", np.int64))

    def append(self, pairs: EncodedPairs) -> None:
        """Write some more pairs."""
        self._source_of.append(pairs.source_of + self._sources.rows)
        self._sources.append(pairs.sources)
        self._budgets.append(pairs.budgets)
        for column, variant in zip(self._targets, pairs.targets, strict=True):
            column.append(variant)
        for costs, values in zip(self._costs, pairs.costs, strict=True):
            costs.append(values)

    def finish(self, provenance: Provenance, dropped: Mapping[str, int]) -> Manifest:
        """Close the files and write the manifest."""
        self._open.close()
        budgets = np.fromfile(self._folder / "budget.bin", "<i4")
        if not len(budgets):
            reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(dropped.items()))
            which = self._folder.name
            raise DataError(f"at least one {which} pair must be left, all were dropped: {reasons}")
        manifest = Manifest(
            unit=provenance.unit,
            recipe=provenance.recipe,
            tokenizers=dict(provenance.tokenizers),
            segmentations=len(self._targets) - 1,
            sources=self._sources.rows,
            pairs=len(budgets),
            source_tokens=self._sources.tokens,
            target_tokens=self._targets[0].tokens,
            longest_source=self._sources.longest,
            longest_target=max(column.longest for column in self._targets),
            natural_length=int(np.median(budgets)),
            dropped=dict(sorted(dropped.items())),
            files={f"{name}.bin": column.facts() for name, column in self._columns.items()},
        )
        text = manifest.model_dump_json(indent=2) + "\n"
        (self._folder / MANIFEST).write_text(text, encoding="utf-8")
        return manifest


def open_store(path: Path, *, verify: bool = False) -> Store:
    """Map a store into memory; sizes are always checked, `verify` checks the hash of every file too."""
    manifest = _read_manifest(path)
    if verify:
        for name, file in manifest.files.items():
            if sha256_of(path / name) != file.sha256:
                raise DataError(
                    f"{path / name} must be as it was written, its hash differs: prepare it again"
                )
    arrays = {name: _map_array(path / name, file) for name, file in manifest.files.items()}
    try:
        return Store(path, manifest, _assemble(arrays, manifest.segmentations + 1))
    except KeyError as problem:
        raise DataError(f"{path} must hold {problem}, its manifest does not name it") from problem


def _read_manifest(path: Path) -> Manifest:
    try:
        manifest = Manifest.model_validate_json((path / MANIFEST).read_bytes())
    except OSError as problem:
        raise DataError(f"{path} must be a folder of prepared pairs: no {MANIFEST} can be read") from problem
    except ValidationError as problem:
        raise DataError(f"{path / MANIFEST} is damaged or of another version: prepare it again") from problem
    if manifest.format != FORMAT:
        raise DataError(f"{path} must be of format {FORMAT}, it is of {manifest.format}: prepare it again")
    return manifest


def _map_array(path: Path, file: StoredFile) -> NDArray[Any]:
    dtype = np.dtype(file.dtype)
    size = path.stat().st_size if path.is_file() else 0
    if size != file.length * dtype.itemsize:
        expected = file.length * dtype.itemsize
        raise DataError(f"{path} must have {expected} bytes, it has {size}: prepare it again")
    if not size:
        return np.empty(0, dtype)
    return np.asarray(np.memmap(path, dtype, mode="r"))


def _assemble(arrays: Mapping[str, NDArray[Any]], variants: int) -> EncodedPairs:
    def ragged(name: str) -> Ragged:
        return Ragged(arrays[f"{name}.bin"], arrays[f"{name}_offsets.bin"])

    return EncodedPairs(
        ragged("source"),
        arrays["source_of.bin"],
        arrays["budget.bin"],
        tuple(ragged(f"target-{variant}") for variant in range(variants)),
        tuple(arrays[f"cost-{variant}.bin"] for variant in range(variants)),
    )
