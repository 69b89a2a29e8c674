"""Tiny models that learn without some lengths, and how they meet these."""

from pathlib import Path

from copyfit.config import read_toml
from copyfit.data.corpus import Pair, read_pairs
from copyfit.evaluation.evaluate import evaluate
from copyfit.evaluation.lengths import LengthError
from copyfit.training.recipe import Recipe
from copyfit.training.run import train
from copyfit.writing.writer import Writer

RECIPE = Path(__file__).parents[1] / "recipes" / "tiny.toml"
UNSEEN = (30, 38, 46)
STEPS = 1000
FEW = 250
"""Steps after which a model that is told nothing shows that it misses; more would not help it."""
TRIED = 70
KINDS: dict[str, tuple[str, ...]] = {
    "characters": (),
    "subwords": (
        'target.kind="subword"',
        "target.size=300",
        "data.segmentations=2",
        "batches.target_tokens=400",
    ),
    "ordinary positions": ('model.positions="pe"',),
}


def trained(examples: Path, output: Path, kind: str, *, steps: int = STEPS) -> Writer:
    settings = [
        f'data.train=["{examples}/train.tsv"]',
        "data.validation=[]",
        f"data.leave_out_lengths={list(UNSEEN)}",
        "data.workers=1",
        "training.minutes=30",
        f"training.steps={steps}",
    ]
    train(read_toml(RECIPE, Recipe, [*settings, *KINDS[kind]]), output, device="cpu")
    return Writer(output / "best", device="cpu")


def errors(writer: Writer, examples: Path) -> list[LengthError]:
    """Let the model decide where to end, for stories and lengths that it never saw."""
    pairs: list[Pair] = list(read_pairs([f"{examples}/test.tsv"]))[:TRIED]
    return [evaluate(writer, pairs, length=length, mode="free").length_error for length in UNSEEN]
