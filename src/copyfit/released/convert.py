"""From a checkpoint of the paper's released code to a model folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from copyfit.checkpoint import Checkpoint, save_checkpoint
from copyfit.errors import CheckpointError, ConfigError
from copyfit.models.config import TransformerSection
from copyfit.released.archive import open_archive
from copyfit.released.arguments import Arguments, read_arguments, section_of
from copyfit.released.dictionary import Dictionary, read_codes, read_dictionary
from copyfit.released.vocabularies import SourceSide, source_of_codes, source_of_words, target_of
from copyfit.released.weights import Tables, convert_weights
from copyfit.text.words import WordList

NATURAL_LENGTH = 75
"""No file tells how long the training headlines were; this is what the released instructions ask for."""


class Released(NamedTuple):
    """Name the files of a released model."""

    checkpoint: Path
    source_dictionary: Path
    target_dictionary: Path
    source_codes: Path | None = None


class Imported(NamedTuple):
    """Say what became of a released model."""

    checkpoint: Checkpoint
    left_out: Mapping[str, int]
    """How many target tokens were left out, by reason."""


def import_released(files: Released, output: Path) -> Imported:
    """Convert a released model into a new model folder, whole or not at all."""
    archive = open_archive(files.checkpoint)
    arguments, section = _describe(archive.arguments, where=f"{files.checkpoint}: args")
    source_dictionary = read_dictionary(files.source_dictionary)
    target_dictionary = read_dictionary(files.target_dictionary)
    source = _source_side(source_dictionary, files.source_codes)
    target = target_of(target_dictionary)
    tables = Tables(
        source_size=source_dictionary.size,
        target_size=target_dictionary.size,
        source=source.rows,
        read=target.read,
        written=target.written,
        shares_output=arguments.shares_output,
    )
    checkpoint = Checkpoint(
        name=output.resolve().name,
        model=section,
        unit="char",
        source=source.tokenizer,
        target=target.vocabulary,
        words=WordList(),
        natural_length=NATURAL_LENGTH,
        longest_source=arguments.max_source_positions,
        facts={
            "Converted from": f"{files.checkpoint.name}, of the paper's released code",
            "Sources must be": "words" if files.source_codes else "pieces of the source dictionary",
            "Left-out tokens": sum(target.left_out.values()),
        },
    )
    weights = convert_weights(archive.weights, section, tables, where=f"{files.checkpoint}: model")
    save_checkpoint(output, checkpoint, weights)
    return Imported(checkpoint, target.left_out)


def _describe(values: Mapping[str, object], *, where: str) -> tuple[Arguments, TransformerSection]:
    try:
        arguments = read_arguments(values, where=where)
        return arguments, section_of(arguments, where=where)
    except ConfigError as problem:
        raise CheckpointError(str(problem)) from problem


def _source_side(dictionary: Dictionary, codes: Path | None) -> SourceSide:
    return source_of_words(dictionary) if codes is None else source_of_codes(dictionary, read_codes(codes))
