"""Cut target texts into pieces of words: by the most frequent merges, or by a random part of them."""

import json
import unicodedata
import zlib
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, pairwise
from random import Random

import numpy as np
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from copyfit.text.alphabet import Alphabet
from copyfit.text.automaton import FIRST_PIECE, PADDING
from copyfit.text.target_file import Pieces, model_of, pieces_of_model
from copyfit.text.tokenizer_file import RESERVED, write_tokenizer
from copyfit.text.word_cache import WordCache

Ids = tuple[int, ...]

LONGEST_PIECE = 16
VARIANTS = 16
"""Every word has this many sampled segmentations; a seed draws one of them for each occurrence."""
_WINDOW = 64
"""Longer words are sampled in parts, so that the time grows only with the length."""
_CACHED_WORDS = 1 << 16
_CACHED_VARIANTS = 1 << 14


def train_subwords(texts: Iterable[str], atoms: Sequence[str], *, size: int, minimum: int) -> Pieces:
    """Merge atoms into pieces by byte-pair encoding, within runs of letters, of digits or of other signs."""
    alphabet = Alphabet(atoms)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_runs(atoms, alphabet)), "isolated")
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=minimum,
        show_progress=False,
        special_tokens=list(RESERVED),
        initial_alphabet=[alphabet.spell(atom) for atom in atoms],
        limit_alphabet=len(atoms),
        max_token_length=LONGEST_PIECE,
    )
    tokenizer.train_from_iterator((" " + alphabet.spell(text) for text in texts), trainer)
    clusters = {code: cluster for cluster, code in alphabet.codes.items()}
    return pieces_of_model(json.loads(write_tokenizer(tokenizer))["model"], clusters)


def _runs(atoms: Iterable[str], alphabet: Alphabet) -> str:
    classes = {"letter": "", "digit": "", "other": ""}
    for atom in atoms:
        if atom != " ":
            classes[_kind(atom)] += f"\\x{{{ord(alphabet.spell(atom)):X}}}"
    return "|".join(f" ?[{members}]+" for members in classes.values() if members)


def _kind(atom: str) -> str:
    category = unicodedata.category(atom[0])
    return {"L": "letter", "M": "letter", "N": "digit"}.get(category[0], "other")


class SubwordEncoder:
    """Turn texts into ids, each word by itself; a text with a cluster outside has none."""

    def __init__(self, pieces: Pieces) -> None:
        alphabet = Alphabet(pieces.atoms)
        ids = {text: token for token, text in enumerate(pieces.texts, FIRST_PIECE)}
        self._spell = alphabet.spell
        self._atoms = {alphabet.spell(atom): ids[atom] for atom in pieces.atoms}
        self._merges: _Merges = {}
        for rank, (left, right) in enumerate(pieces.merges or ()):
            self._merges[ids[left], ids[right]] = (rank, ids[left + right])
        self._tokenizer = Tokenizer(model_of(pieces, alphabet))
        self._words = WordCache(self._cut, room=_CACHED_WORDS)
        self._variants: dict[float, list[WordCache[Ids | None]]] = {}

    def encode(self, text: str) -> list[int] | None:
        """Return the ids of a text by all merges."""
        return _join([self._words[word] for word in text.split(" ")]) if text else []

    def sample(self, texts: Sequence[str], *, dropout: float, seed: int) -> list[list[int] | None]:
        """Return the ids of texts by merges of which each is left out with the probability `dropout`."""
        variants = self._variants_with(dropout)
        number = sum(text.count(" ") + 1 for text in texts)
        draws = iter(np.random.default_rng(seed).integers(VARIANTS, size=number).tolist())
        # words first: zip then takes no draw beyond the last word
        return [
            _join([variants[draw][word] for word, draw in zip(text.split(" "), draws, strict=False)])
            if text
            else []
            for text in texts
        ]

    def _variants_with(self, dropout: float) -> list[WordCache[Ids | None]]:
        if dropout not in self._variants:
            self._variants[dropout] = [
                WordCache(partial(self._cut_at_random, dropout, variant), room=_CACHED_VARIANTS)
                for variant in range(VARIANTS)
            ]
        return self._variants[dropout]

    def _cut(self, word: str) -> Ids | None:
        ids = self._tokenizer.encode(" " + self._spell(word)).ids
        return None if PADDING in ids else tuple(ids)

    def _cut_at_random(self, dropout: float, variant: int, word: str) -> Ids | None:
        symbols = [self._atoms.get(code, PADDING) for code in " " + self._spell(word)]
        if PADDING in symbols:
            return None
        random = Random(zlib.crc32(word.encode()) * VARIANTS + variant)
        windows = (symbols[first : first + _WINDOW] for first in range(0, len(symbols), _WINDOW))
        return tuple(chain.from_iterable(_merge(part, self._merges, dropout, random) for part in windows))


_Merges = dict[tuple[int, int], tuple[int, int]]
"""What two neighbours become, and how early: (rank, id) of a pair of ids."""


def _merge(symbols: list[int], merges: _Merges, dropout: float, random: Random) -> list[int]:
    while True:
        possible = sorted(
            (merges[pair], place) for place, pair in enumerate(pairwise(symbols)) if pair in merges
        )
        chosen = next((merge for merge in possible if random.random() >= dropout), None)
        if chosen is None:
            return symbols
        (_, merged), place = chosen
        symbols[place : place + 2] = [merged]


def _join(words: Sequence[Ids | None]) -> list[int] | None:
    known = [word for word in words if word is not None]
    return list(chain.from_iterable(known)) if len(known) == len(words) else None
