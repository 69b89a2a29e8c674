"""Cut target texts into pieces of words: by the most frequent merges, or by a random part of them."""

import json
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import chain, compress

import numpy as np
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from copyfit.text.alphabet import Alphabet
from copyfit.text.automaton import PADDING
from copyfit.text.target_file import Pieces, model_of, pieces_of_model
from copyfit.text.tokenizer_file import RESERVED, write_tokenizer
from copyfit.text.word_cache import WordCache

Ids = tuple[int, ...]

LONGEST_PIECE = 16
VARIANTS = 16
"""Sampled segmentations come from this many fixed choices of merges, so that words can be remembered."""
SPELLED = 1 / 32
"""The share of samples that are spelled cluster by cluster, so that all of these stay in use."""
_CACHED_WORDS = 1 << 17
_SCRIPTS = {
    "CJK": "han",
    "IDEOGRAPHIC": "han",
    "HIRAGANA": "hiragana",
    "KATAKANA": "katakana",
    "KATAKANA-HIRAGANA": "katakana",
}
"""Japanese has no spaces, but its scripts part its words often enough; by first words of names."""


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
    classes: dict[str, str] = {}
    for atom in atoms:
        if atom != " ":
            kind = _kind(atom[0])
            classes[kind] = classes.get(kind, "") + f"\\x{{{ord(alphabet.spell(atom)):X}}}"
    return "|".join(f" ?[{members}]+" for members in classes.values())


def _kind(character: str) -> str:
    category = unicodedata.category(character)[0]
    if category in "LM":
        script = unicodedata.name(character, "").split(" ")[0]
        return _SCRIPTS.get(script, "letter")
    return "digit" if category == "N" else "other"


class SubwordEncoder:
    """Turn texts into ids, each word by itself; a text with a cluster outside has none."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._alphabet = Alphabet(pieces.atoms)
        self._words = self._word_ids(pieces, room=_CACHED_WORDS)
        self._variants: dict[float, list[WordCache[Ids | None]]] = {}

    def encode(self, text: str) -> list[int] | None:
        """Return the ids of a text by all merges."""
        return _encode(text, self._words)

    def sample(self, texts: Sequence[str], *, dropout: float, seed: int) -> list[list[int] | None]:
        """Return the ids of texts, each by a variant of the merges drawn at random or by none."""
        variants = self._variants_with(dropout)
        random = np.random.default_rng(seed)
        draws = random.integers(1, VARIANTS, size=len(texts), endpoint=True)
        draws[random.random(len(texts)) < SPELLED] = 0
        return [_encode(text, variants[draw]) for text, draw in zip(texts, draws.tolist(), strict=True)]

    def _variants_with(self, dropout: float) -> list[WordCache[Ids | None]]:
        if dropout not in self._variants:
            variants = [self._pieces._replace(merges=()), *_leave_out(self._pieces, dropout)]
            room = _CACHED_WORDS // VARIANTS
            self._variants[dropout] = [self._word_ids(variant, room=room) for variant in variants]
        return self._variants[dropout]

    def _word_ids(self, pieces: Pieces, *, room: int) -> WordCache[Ids | None]:
        tokenizer = Tokenizer(model_of(pieces, self._alphabet))
        spell = self._alphabet.spell

        def cut(word: str) -> Ids | None:
            ids = tokenizer.encode(" " + spell(word)).ids
            return None if PADDING in ids else tuple(ids)

        return WordCache(cut, room=room)


def _leave_out(pieces: Pieces, dropout: float) -> list[Pieces]:
    """Return variants of which each lacks the share `dropout` of the merges, other ones each."""
    merges = pieces.merges or ()
    random = np.random.default_rng(len(merges))
    order = random.random((len(merges), VARIANTS)).argsort(axis=1)
    kept = order >= np.floor(dropout * VARIANTS + random.random((len(merges), 1)))
    return [pieces._replace(merges=tuple(compress(merges, row))) for row in kept.T]


def _encode(text: str, words: WordCache[Ids | None]) -> list[int] | None:
    parts = [words[word] for word in text.split(" ")] if text else []
    known = [part for part in parts if part is not None]
    return list(chain.from_iterable(known)) if len(known) == len(parts) else None
