"""Share what tests of prepare need."""

import random
from collections.abc import Sequence

from copyfit.data.prepared import PreparedData
from copyfit.data.store import Store
from copyfit.text.tokenizer import SourceSection
from copyfit.text.vocabulary import TargetSection

SOURCE = SourceSection.model_validate({"size": 300})
CHARACTERS = TargetSection.model_validate({"minimum": 1})
Rows = Sequence[tuple[str, ...]]


SUBWORDS = TargetSection.model_validate({"kind": "subword", "size": 120, "minimum": 1})
WORDS = [
    "bridge",
    "river",
    "mayor",
    "opens",
    "closed",
    "after",
    "storm",
    "Zürich",
    "two",
    "years",
    "éclair",
    "42",
]


def invented(number: int, *, seed: int = 0) -> list[tuple[str, str]]:
    """Invent pairs whose sources all differ."""
    draw = random.Random(seed)
    return [
        (
            f"{' '.join(draw.choices(WORDS, k=12))} no. {seed}-{row}",
            " ".join(draw.choices(WORDS, k=draw.randint(1, 6))),
        )
        for row in range(number)
    ]


def texts_of(data: PreparedData, store: Store, segmentation: int = 0) -> list[tuple[str, str]]:
    pairs = store.pairs
    return [
        (
            data.tokenizers.source.decode(pairs.sources.row(int(pairs.source_of[pair])).tolist()),
            data.tokenizers.target.decode(pairs.targets[segmentation].row(pair).tolist()),
        )
        for pair in range(len(pairs))
    ]
