"""Source texts to subword ids."""

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Literal, Self

from pydantic import Field
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from copyfit.config import Section
from copyfit.text.automaton import FIRST_PIECE
from copyfit.text.tokenizer_file import RESERVED, open_tokenizer, write_tokenizer
from copyfit.text.word_cache import WordCache

_BEGINNING = " "
_JAPANESE = r"\p{Han}\p{Hiragana}\p{Katakana}ー"
_LETTER = rf"[[\p{{L}}\p{{M}}]&&[^{_JAPANESE}]]"
_RUNS = "|".join(
    (
        rf" ?{_LETTER}+(?:['’]{_LETTER}+)*",
        r" ?\p{Han}+",
        r" ?\p{Hiragana}+",
        r" ?[\p{Katakana}ー]+",
        r" ?\p{N}+",
        r" ?[^\s\p{L}\p{M}\p{N}]+",
        r"\s",
    )
)
"""What no piece crosses. A space is always the first character of a run, so texts can be cut at spaces."""
_CACHED_WORDS = 1 << 17
_SHRINKING = 0.5
"""The share of pieces that a round of unigram training keeps; the usual 0.75 takes twice as long."""
_SPREAD = 256 * 1e-4


class SourceSection(Section):
    """Say how sources are cut into subwords."""

    kind: Literal["bpe", "unigram"] = "bpe"
    """How the pieces are found."""
    size: int = Field(default=16_000, ge=300, le=65_535)
    """The most tokens, the three reserved ones among them."""
    sample: int = Field(default=200_000, ge=1)
    """How many rows, drawn evenly from all training files, to train on."""


class SourceTokenizer:
    """Turn any text into ids of subwords over its UTF-8 bytes; no text has an unknown part.

    Encoding runs in the calling thread. Training uses all cores: start worker processes by `spawn`, not by
    `fork`, afterwards.
    """

    def __init__(self, content: str) -> None:
        self._content = content
        self._tokenizer = open_tokenizer(content)
        self._tokenizer.normalizer = None
        self._words = WordCache(self.encode_word, room=_CACHED_WORDS)
        self.ending = tuple(self._tokenizer.encode("").ids)
        """What stands behind every source: nothing, or what the file says (END, in models of others)."""

    @property
    def size(self) -> int:
        """Return the number of tokens, the reserved ones included."""
        return self._tokenizer.get_vocab_size()

    def __reduce__(self) -> tuple[Callable[[str], Self], tuple[str]]:
        return self.from_json, (self._content,)

    @classmethod
    def train(cls, texts: Iterable[str], section: SourceSection) -> Self:
        """Find the subwords of texts; the same texts give the same ones."""
        tokenizer = Tokenizer(models.BPE() if section.kind == "bpe" else models.Unigram())
        tokenizer.normalizer = normalizers.Prepend(_BEGINNING)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(_RUNS), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.train_from_iterator(texts, _trainer(section))
        if section.kind == "unigram":
            tokenizer.model = _settled(tokenizer)
        return cls(write_tokenizer(tokenizer))

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text and its ending."""
        words = text.split(" ") if text else []
        return [*chain.from_iterable(map(self._words.__getitem__, words)), *self.ending]

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """Return the ids of many texts."""
        return [self.encode(text) for text in texts]

    def shorten(self, ids: Sequence[int], longest: int) -> list[int]:
        """Return at most so many ids of a source: its beginning, and its ending."""
        if len(ids) <= longest:
            return list(ids)
        return [*ids[: longest - len(self.ending)], *self.ending]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids, leaving out reserved ones."""
        pieces = [token for token in ids if token >= FIRST_PIECE]
        return self._tokenizer.decode(pieces).removeprefix(_BEGINNING)

    def to_json(self) -> str:
        """Write a file for `from_json`, which is also one for `tokenizers.Tokenizer.from_str`."""
        return self._content

    @classmethod
    def from_json(cls, content: str) -> Self:
        """Read what `to_json` wrote."""
        return cls(content)

    def encode_word(self, word: str) -> tuple[int, ...]:
        """Return the ids of what stands between two spaces."""
        return tuple(self._tokenizer.encode(_BEGINNING + word, add_special_tokens=False).ids)


def _trainer(section: SourceSection) -> trainers.Trainer:
    size, reserved = section.size, list(RESERVED)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    if section.kind == "bpe":
        return trainers.BpeTrainer(
            vocab_size=size, special_tokens=reserved, initial_alphabet=alphabet, show_progress=False
        )
    return trainers.UnigramTrainer(
        vocab_size=size,
        special_tokens=reserved,
        initial_alphabet=alphabet,
        shrinking_factor=_SHRINKING,
        show_progress=False,
    )


def _settled(tokenizer: Tokenizer) -> models.Unigram:
    """Return a trained unigram model without traces of threads and hashing.

    These are the last digits, and how the bytes that no text has are spread above the lowest score.
    """
    learned = json.loads(tokenizer.to_str())["model"]["vocab"][len(RESERVED) :]
    lowest = min(score for _, score in learned)
    levelled = (
        (piece, lowest if len(piece) == 1 and score < lowest + _SPREAD else score) for piece, score in learned
    )
    ranked = sorted((-round(score, 6), piece) for piece, score in levelled)
    return models.Unigram([(name, 0.0) for name in RESERVED] + [(piece, -loss) for loss, piece in ranked])
