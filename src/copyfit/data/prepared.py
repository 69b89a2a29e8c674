"""A folder of prepared data: tokenizers, known words and stores."""

import hashlib
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from copyfit.config import Section
from copyfit.data.accounts import Account, total
from copyfit.data.store import Store, open_store, sha256_of
from copyfit.errors import DataError
from copyfit.text.tokenizer import SourceTokenizer
from copyfit.text.vocabulary import TargetVocabulary
from copyfit.text.words import WordList

TRAIN, VALIDATION = "train", "validation"
_SUMMARY = "prepared.json"
_SOURCE, _TARGET, _WORDS = "source_tokenizer.json", "target_tokenizer.json", "words.txt"


class Tokenizers(NamedTuple):
    """Hold what turns texts into ids."""

    source: SourceTokenizer
    target: TargetVocabulary

    def hashes(self) -> dict[str, str]:
        """Hash their files."""
        return {name: _hash(tokenizer.to_json()) for name, tokenizer in self._asdict().items()}


class PreparedData(NamedTuple):
    """Hold all that training needs to know of its data."""

    path: Path
    tokenizers: Tokenizers
    words: WordList
    """The words of the training targets that are frequent enough to be known."""
    train: Store
    validation: Store | None

    def accounts(self) -> list[Account]:
        """Tell what was read of each part, kept and dropped, and the total."""
        stores = {TRAIN: self.train, VALIDATION: self.validation}
        parts = [store.manifest.account(part) for part, store in stores.items() if store]
        return [*parts, total(parts)]


class _Summary(Section):
    """Say which files a folder holds beside its stores, by hash, and whether there are validation pairs."""

    files: dict[str, str]
    validation: bool


def close_folder(folder: Path, tokenizers: Tokenizers, words: WordList) -> None:
    """Write all that makes a folder with stores one of prepared data."""
    texts = {
        _SOURCE: tokenizers.source.to_json(),
        _TARGET: tokenizers.target.to_json(),
        _WORDS: words.to_text(),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    hashes = {name: _hash(text) for name, text in texts.items()}
    summary = _Summary(files=hashes, validation=(folder / VALIDATION).exists())
    (folder / _SUMMARY).write_text(summary.model_dump_json(indent=2) + "\n", encoding="utf-8")


def open_prepared(path: Path, *, verify: bool = False) -> PreparedData:
    """Open a folder that `prepare` made; `verify` checks the hashes of the large files too."""
    try:
        summary = _Summary.model_validate_json((path / _SUMMARY).read_bytes())
    except (OSError, ValidationError) as problem:
        raise DataError(f"{path} must be a folder of prepared data: it has no sound {_SUMMARY}") from problem
    texts = {name: _read_checked(path / name, hashed) for name, hashed in summary.files.items()}
    return PreparedData(
        path,
        Tokenizers(SourceTokenizer.from_json(texts[_SOURCE]), TargetVocabulary.from_json(texts[_TARGET])),
        WordList.from_text(texts[_WORDS]),
        open_store(path / TRAIN, verify=verify),
        open_store(path / VALIDATION, verify=verify) if summary.validation else None,
    )


def _read_checked(path: Path, hashed: str) -> str:
    if not path.is_file() or sha256_of(path) != hashed:
        raise DataError(f"{path} must be as it was written: prepare again")
    return path.read_bytes().decode()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
