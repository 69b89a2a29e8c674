"""Turn files of pairs into a folder of tokenizers and stores that training reads."""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from copyfit.config import Section
from copyfit.data.corpus import form_of, read_blocks, reading, stop
from copyfit.data.duplicates import Gate, PairHashes
from copyfit.data.encode import Encoder, Rules
from copyfit.data.filters import FilterSection, objection
from copyfit.data.prepared import TRAIN, VALIDATION, PreparedData, Tokenizers, close_folder, open_prepared
from copyfit.data.sample import sample_pairs
from copyfit.data.store import EncodedPairs, Provenance, StoreWriter, sha256_of, whole_folder
from copyfit.data.workers import encode_blocks
from copyfit.errors import DataError, RequestError
from copyfit.folders import is_free
from copyfit.text.tokenizer import SourceSection, SourceTokenizer
from copyfit.text.units import check_unit
from copyfit.text.vocabulary import TargetSection, TargetVocabulary
from copyfit.text.words import WordList, words

_TOLD = 20
"""How many bad lines are told one by one."""
Choice = Callable[[PairHashes, Counter[str]], NDArray[np.bool_]]
"""Tell which pairs of a block pass, and count the others."""


def tell_on_stderr(line: str) -> None:
    """Say something to whoever watches."""
    sys.stderr.write(f"{line}\n")


class DataSection(Section):
    """Say which pairs there are and how they are filtered and encoded."""

    train: tuple[str, ...] = Field(min_length=1)
    """Files of pairs: .tsv, .csv, .jsonl, .parquet, or `texts.txt|headlines.txt`; also .gz, .xz, .zst."""
    validation: tuple[str, ...] = ()
    """Files of pairs that the model is tried on."""
    unit: str = "char"
    """What a budget counts; the model is told budgets in it."""
    on_bad_line: Literal["fail", "skip"] = "fail"
    """Whether a bad line ends the preparation or is counted and left out."""
    filters: FilterSection = FilterSection()
    longest_source: int = Field(default=200, ge=1)
    """In tokens; longer sources are cut off."""
    longest_target: int = Field(default=120, ge=1)
    """In tokens; longer targets are dropped."""
    segmentations: int = Field(default=0, ge=0, le=16)
    """How many sampled segmentations of every target an epoch is taken from in turn, besides the best."""
    dropout: float = Field(default=0.03, ge=0, lt=1)
    """Chance of each merge to be left out in a sampled segmentation."""
    leave_out_lengths: tuple[int, ...] = ()
    """Budgets that no training target may have; validation keeps them."""
    seed: int = Field(default=1, ge=0)
    """Fixes the sampled segmentations and the sample that tokenizers are trained on."""
    workers: int = Field(default=0, ge=0)
    """Processes that encode, 0 for one a core; the outcome is the same for any number."""

    @field_validator("unit")
    @classmethod
    def _known_unit(cls, unit: str) -> str:
        try:
            return check_unit(unit)
        except RequestError as problem:
            raise ValueError(str(problem)) from problem


def prepare(
    section: DataSection,
    source: SourceSection,
    target: TargetSection,
    output: Path,
    *,
    tell: Callable[[str], None] = tell_on_stderr,
) -> PreparedData:
    """Train tokenizers on the training pairs and encode all pairs into a new folder.

    A folder that was made from the same files and recipe is taken as it is. `tell` gets a line on each of
    the first bad lines.
    """
    recipe = _recipe_hash(section, source.model_dump(mode="json"), target.model_dump(mode="json"))
    if not is_free(output):
        return _reuse(output, recipe)
    with whole_folder(output) as folder:
        tokenizers = train_tokenizers(section, source, target)
        _Writing(section, tokenizers, recipe, tell).write_all(folder)
    return open_prepared(output)


def prepare_with(
    section: DataSection,
    tokenizers: Tokenizers,
    output: Path,
    *,
    tell: Callable[[str], None] = tell_on_stderr,
) -> PreparedData:
    """Do what `prepare` does with tokenizers that there are, those of a checkpoint for one."""
    recipe = _recipe_hash(section, *(tokenizer.to_json() for tokenizer in tokenizers))
    if not is_free(output):
        return _reuse(output, recipe)
    with whole_folder(output) as folder:
        _Writing(section, tokenizers, recipe, tell).write_all(folder)
    return open_prepared(output)


def train_tokenizers(section: DataSection, source: SourceSection, target: TargetSection) -> Tokenizers:
    """Train both tokenizers on pairs drawn evenly from the training files."""
    sources: list[str] = []
    targets: list[str] = []
    for rank, pair in sample_pairs(
        section.train,
        max(source.sample, target.sample),
        seed=section.seed,
        on_bad_line=stop if section.on_bad_line == "fail" else _ignore,
    ):
        admitted = [text for text in pair.targets if not objection(pair.source, text, section.filters)]
        if admitted and rank < source.sample:
            sources.append(pair.source)
        if rank < target.sample:
            targets += admitted
    if not (sources and targets):
        raise DataError("at least one training pair must be sound and pass the filters, none does")
    return Tokenizers(SourceTokenizer.train(sources, source), TargetVocabulary.train(targets, target))


def _ignore(_: DataError) -> None:
    """Let a bad line pass: encoding reports it."""


def _reuse(output: Path, recipe: str) -> PreparedData:
    prepared = open_prepared(output)
    if prepared.train.manifest.recipe != recipe:
        raise DataError(f"{output} holds data of another recipe or of other files: choose another folder")
    return prepared


def _recipe_hash(section: DataSection, *made_with: object) -> str:
    """Hash all that the outcome follows from, the content of the files too."""
    files = []
    for path in (*section.train, *section.validation):
        form_of(path)
        for part in path.split("|"):
            with reading(part):
                files.append(sha256_of(Path(part)))
    content = [section.model_dump(mode="json", exclude={"workers"}), made_with, files]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class _Writing:
    """Hold what the training and the validation store have in common."""

    section: DataSection
    tokenizers: Tokenizers
    recipe: str
    tell: Callable[[str], None]

    def write_all(self, folder: Path) -> None:
        """Write the stores and all that belongs to them."""
        rules = self._rules()
        gate = Gate(self.section.filters.duplicates)
        if self.section.validation:
            self._write(folder / VALIDATION, self.section.validation, rules, gate.pass_validation)
        rules = rules._replace(leave_out=frozenset(self.section.leave_out_lengths))
        tokens = self._write(folder / TRAIN, self.section.train, rules, gate.pass_training)
        close_folder(folder, self.tokenizers, WordList.from_counts(_count_words(tokens)))

    def _rules(self) -> Rules:
        section = self.section
        return Rules(
            unit=section.unit,
            filters=section.filters,
            longest_source=section.longest_source,
            longest_target=section.longest_target,
            segmentations=section.segmentations if self.tokenizers.target.prefixed else 0,
            dropout=section.dropout,
            seed=section.seed,
        )

    def _write(self, folder: Path, paths: Sequence[str], rules: Rules, choose: Choice) -> Counter[str]:
        encoder = Encoder(*self.tokenizers, rules)
        dropped, tokens = Counter[str](), Counter[str]()
        folder.mkdir()
        with StoreWriter(folder, encoder.types, segmentations=rules.segmentations) as store:
            for block in encode_blocks(read_blocks(paths), encoder, workers=self.section.workers):
                self._report(block.bad_lines, dropped)
                dropped.update(block.dropped)
                tokens.update(block.tokens)
                store.append(_chosen(block.pairs, choose(block.hashes, dropped)))
            store.finish(Provenance(rules.unit, self.recipe, self.tokenizers.hashes()), +dropped)
        if dropped["bad_line"] > _TOLD:
            self.tell(f"skipped {dropped['bad_line']} bad lines in all")
        return tokens

    def _report(self, bad_lines: Sequence[str], dropped: Counter[str]) -> None:
        for problem in bad_lines:
            if self.section.on_bad_line == "fail":
                raise DataError(problem)
            dropped["bad_line"] += 1
            if dropped["bad_line"] <= _TOLD:
                self.tell(f"skipped {problem}")


def _count_words(tokens: Counter[str]) -> Counter[str]:
    counts = Counter[str]()
    for token, count in tokens.items():
        for word in words(token):
            counts[word] += count
    return counts


def _chosen(pairs: EncodedPairs, passed: NDArray[np.bool_]) -> EncodedPairs:
    return pairs if passed.all() else pairs.select(passed)
