"""A target vocabulary as a tokenizers file that gives the same ids."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from copyfit.errors import CheckpointError
from copyfit.text.alphabet import FIRST_CODE, LAST_CODE, OUTSIDE, Alphabet
from copyfit.text.tokenizer_file import RESERVED, open_tokenizer, write_tokenizer

_FLAG_LETTER = "[\U0001f1e6-\U0001f1ff]"
_BEHIND_WHOLE_FLAGS = rf"(?:\G|(?<!{_FLAG_LETTER}))(?:{_FLAG_LETTER}{{2}})*?\K"
"""A flag is two of its letters, counted from where a row of them began or the last match ended."""


class Pieces(NamedTuple):
    """List the texts of the tokens behind the reserved ones and, for subwords, which pairs make which."""

    texts: tuple[str, ...]
    merges: tuple[tuple[str, str], ...] | None = None

    @property
    def atoms(self) -> list[str]:
        """Return the pieces that no merge makes: single clusters."""
        made = {left + right for left, right in self.merges or ()}
        return [text for text in self.texts if text not in made]


def model_of(pieces: Pieces, alphabet: Alphabet) -> models.Model:
    """Return the model that turns spelled text into ids, 0 for what is outside."""
    spelled = [*RESERVED, *map(alphabet.spell, pieces.texts)]
    ids = {text: token for token, text in enumerate(spelled)}
    if pieces.merges is None:
        return models.WordLevel(ids, unk_token=RESERVED[0])
    merges = [(alphabet.spell(left), alphabet.spell(right)) for left, right in pieces.merges]
    return models.BPE(ids, merges, unk_token=RESERVED[0])


def write_pieces(pieces: Pieces) -> str:
    """Write a tokenizers file that spells, cuts and joins text as the vocabulary does."""
    prefixed = pieces.merges is not None
    alphabet = Alphabet(pieces.atoms)
    tokenizer = Tokenizer(model_of(pieces, alphabet))
    spelling = _spelling(alphabet) + [normalizers.Prepend(" ")] * prefixed
    if spelling:
        tokenizer.normalizer = normalizers.Sequence(spelling)
    tokenizer.pre_tokenizer = (
        pre_tokenizers.Split(" ", "merged_with_next")
        if prefixed
        else pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    )
    unspelling = [decoders.Replace(code, cluster) for cluster, code in alphabet.codes.items()]
    ending = [decoders.Fuse()] + [decoders.Strip(" ", 1, 0)] * prefixed
    tokenizer.decoder = decoders.Sequence([*unspelling, *ending])
    return write_tokenizer(tokenizer)


def _spelling(alphabet: Alphabet) -> list[normalizers.Normalizer]:
    """Replace clusters by their codes, long ones before those they contain, after codes that were text."""
    if not alphabet.codes:
        return []
    longest_first = sorted(alphabet.codes.items(), key=lambda entry: -len(entry[0]))
    return [
        normalizers.Replace(Regex(f"[{FIRST_CODE}-{LAST_CODE}]"), OUTSIDE),
        *(normalizers.Replace(_pattern(cluster), code) for cluster, code in longest_first),
    ]


def _pattern(cluster: str) -> str | Regex:
    is_flag = re.match(_FLAG_LETTER, cluster)
    return Regex(_BEHIND_WHOLE_FLAGS + cluster) if is_flag else cluster


def read_pieces(content: str) -> Pieces:
    """Read what `write_pieces` wrote."""
    open_tokenizer(content)
    try:
        values = json.loads(content)
        steps = values["decoder"]["decoders"]
        clusters = {step["pattern"]["String"]: step["content"] for step in steps if step["type"] == "Replace"}
        return pieces_of_model(values["model"], clusters)
    except (KeyError, TypeError, ValueError) as problem:
        raise CheckpointError(f"must be a target vocabulary that copyfit wrote: {problem!r}") from problem


def pieces_of_model(model: Mapping[str, Any], clusters: Mapping[str, str]) -> Pieces:
    """Return the pieces of a tokenizers model as text, given the clusters that its codes stand for."""
    unspell = str.maketrans(dict(clusters))
    spelled: Sequence[str] = sorted(model["vocab"], key=model["vocab"].__getitem__)
    texts = tuple(text.translate(unspell) for text in spelled[len(RESERVED) :])
    if model["type"] != "BPE":
        return Pieces(texts)
    merges = ((left.translate(unspell), right.translate(unspell)) for left, right in model["merges"])
    return Pieces(texts, tuple(merges))
