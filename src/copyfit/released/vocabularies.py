"""Turn dictionaries into copyfit's vocabularies, and say which row of the file's tables each token has."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from copyfit.errors import CheckpointError
from copyfit.released.dictionary import (
    END_ROW,
    PADDING_ROW,
    SPECIAL,
    UNKNOWN_ROW,
    UNUSED_ROW,
    Dictionary,
    Merge,
)
from copyfit.text.automaton import END
from copyfit.text.graphemes import is_solid
from copyfit.text.tokenizer import SourceTokenizer
from copyfit.text.tokenizer_file import RESERVED, write_tokenizer
from copyfit.text.vocabulary import TargetVocabulary

SPACES = ("@@@@", "@@@")
"""What stands for a space among characters."""
_GOES_ON = "@@"
"""Behind a piece of a word in a dictionary: more of the word follows."""
_ENDS = "</w>"
"""Behind a piece in codes: it ends a word."""
_UNKNOWN_NAME = "⟨unknown⟩"
_NAMES = (*RESERVED, _UNKNOWN_NAME)
_SPACE = " "

Rows = tuple[int, ...]


class SourceSide(NamedTuple):
    """Hold what cuts sources, and the row that each token has."""

    tokenizer: SourceTokenizer
    rows: Rows


class TargetSide(NamedTuple):
    """Hold the characters that can be written, the row that each has, and why other tokens were left out."""

    vocabulary: TargetVocabulary
    kept: Rows
    left_out: Mapping[str, int]

    @property
    def read(self) -> Rows:
        """Return the rows by which tokens are read: a text begins with the symbol that ends one."""
        return (PADDING_ROW, END_ROW, END_ROW, *self.kept)

    @property
    def written(self) -> Rows:
        """Return the rows by which tokens are scored: END once, and for START one that is never written."""
        return (PADDING_ROW, UNUSED_ROW, END_ROW, *self.kept)


def source_of_words(dictionary: Dictionary) -> SourceSide:
    """Take sources that are cut already: what stands between two spaces is a token, or unknown."""
    names = [*_NAMES, *(_SPACE + token for token in dictionary.tokens)]
    tokenizer = Tokenizer(models.WordLevel(_numbered(names), unk_token=_UNKNOWN_NAME))
    # A space before every word keeps the reserved names out of reach of any text.
    tokenizer.normalizer = normalizers.Prepend(_SPACE)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(_SPACE, "merged_with_next")
    tokenizer.decoder = decoders.Fuse()
    return _side(tokenizer, range(SPECIAL, dictionary.size))


def source_of_codes(dictionary: Dictionary, merges: Sequence[Merge]) -> SourceSide:
    """Cut the words of sources by codes of subword-nmt.

    A piece on the way to a longer one may be missing from the dictionary. It gets the row of what is unknown.
    """
    pieces = dict.fromkeys(map(_piece, dictionary.tokens))
    on_the_way = (part for left, right in merges for part in (left, right, left + right))
    pieces |= dict.fromkeys(on_the_way)
    rows = {token: row for row, token in enumerate(dictionary.tokens, SPECIAL)}
    vocabulary = _numbered([*_NAMES, *pieces])
    tokenizer = Tokenizer(
        models.BPE(vocabulary, list(merges), unk_token=_UNKNOWN_NAME, end_of_word_suffix=_ENDS)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(_SPACE, "removed")
    tokenizer.decoder = decoders.BPEDecoder(_ENDS)
    return _side(tokenizer, (rows.get(_token(piece), UNKNOWN_ROW) for piece in pieces))


def target_of(dictionary: Dictionary) -> TargetSide:
    """Keep the characters that can stand beside any other, and what stands for a space."""
    space = _space_of(dictionary)
    kept: dict[str, int] = {}
    left_out = Counter({"special": SPECIAL - 1})
    for row, token in enumerate(dictionary.tokens, SPECIAL):
        piece = _SPACE if token == space else token
        if len(piece) > 1:
            left_out["longer than a character"] += 1
        elif not is_solid(piece):
            left_out["not solid"] += 1
        else:
            kept[piece] = row
    if not kept:
        raise CheckpointError("the target dictionary must hold single characters, it holds none")
    return TargetSide(TargetVocabulary(list(kept)), tuple(kept.values()), +left_out)


def _space_of(dictionary: Dictionary) -> str | None:
    """Return the most frequent of the tokens that may stand for a space: the other is a piece of a source."""
    counts = dict(zip(dictionary.tokens, dictionary.counts, strict=True))
    there = [token for token in SPACES if token in counts]
    return max(there, key=counts.__getitem__, default=None)


def _numbered(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


def _piece(token: str) -> str:
    """Write a token of a dictionary as codes do."""
    return token.removesuffix(_GOES_ON) if token.endswith(_GOES_ON) else token + _ENDS


def _token(piece: str) -> str:
    """Write a piece of codes as a dictionary does."""
    return piece.removesuffix(_ENDS) if piece.endswith(_ENDS) else piece + _GOES_ON


def _side(tokenizer: Tokenizer, rows: Iterable[int]) -> SourceSide:
    # fairseq ends every source with its END.
    end = RESERVED[END]
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {end}", special_tokens=[(end, END)])
    return SourceSide(
        SourceTokenizer(write_tokenizer(tokenizer)), (PADDING_ROW, UNUSED_ROW, END_ROW, UNKNOWN_ROW, *rows)
    )
