"""What a recipe says of a run."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from copyfit.config import Section
from copyfit.data.batches import BatchSection
from copyfit.data.prepare import DataSection
from copyfit.models.config import AnyModelSection, TransformerSection
from copyfit.text.tokenizer import SourceSection
from copyfit.text.vocabulary import TargetSection
from copyfit.training.schedule import ScheduleName

OptimizerName = Literal["adam", "adamw"]


class TrainingSection(Section):
    """Say how to train, how long, and what to keep. The run ends at the first maximum that is reached."""

    steps: int | None = Field(default=None, ge=1)
    """Most steps of the run."""
    epochs: int | None = Field(default=None, ge=1)
    """Most passes over the training pairs."""
    minutes: float | None = Field(default=None, gt=0)
    """Most minutes of the run."""
    batches_per_step: int = Field(default=1, ge=1)
    """Batches that make one step, shared out to all processes: the same step on any hardware."""
    optimizer: OptimizerName = "adam"
    """Adam, or AdamW with decay apart from the gradient."""
    learning_rate: float = Field(default=1e-3, gt=0)
    """The greatest rate, reached at the end of the warm-up."""
    schedule: ScheduleName = "inverse-square-root"
    """How the rate falls after the warm-up."""
    warmup_steps: int = Field(default=4000, ge=0)
    """Steps in which the rate rises evenly."""
    final_rate: float = Field(default=0.0, ge=0, le=1)
    """Where the cosine ends, as a share of the learning rate."""
    betas: tuple[float, float] = (0.9, 0.98)
    """Decay of the moments of the gradient."""
    epsilon: float = Field(default=1e-9, gt=0)
    """What keeps a step finite where gradients vanish."""
    weight_decay: float = Field(default=0.0, ge=0)
    """Of matrices only."""
    clip_norm: float = Field(default=1.0, ge=0)
    """Greatest norm of the gradient; 0 is no limit."""
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    """Share of each label that is spread over all tokens."""
    precision: Literal["float32", "bfloat16", "float64"] = "float32"
    """Type of the products; weights are float32 with bfloat16 products too."""
    compile: bool = False
    """Whether PyTorch compiles the model first; worth half a minute on a GPU."""
    deterministic: bool = False
    """Whether a GPU may only use operations that give the same bits every time."""
    ema_decay: float = Field(default=0.0, ge=0, lt=1)
    """Decay of a moving average of the weights, which then is what is validated and published; 0 is none."""
    average_last: int = Field(default=5, ge=1)
    """How many of the last checkpoints `average` is the mean of, where there is no moving average."""
    keep_checkpoints: int = Field(default=5, ge=1)
    """How many of the last saves stay."""
    save_every: int = Field(default=1000, ge=1)
    """Steps between two saves."""
    journal_every: int = Field(default=50, ge=1)
    """Steps between two lines of the journal."""
    max_skipped_steps: int = Field(default=20, ge=1)
    """Steps in a row whose loss or gradient may be infinite or no number before the run gives up."""
    tracking: tuple[str, ...] = ()
    """Names of trackers that accelerate knows, such as "tensorboard"."""

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.steps is None and self.epochs is None and self.minutes is None:
            raise ValueError("one of steps, epochs and minutes must say when training ends")
        if self.schedule == "cosine" and self.steps is None and self.epochs is None:
            raise ValueError("a cosine schedule needs steps or epochs, it cannot end by minutes alone")
        return self

    @model_validator(mode="after")
    def _keeps_what_it_averages(self) -> Self:
        if not self.ema_decay and self.average_last > self.keep_checkpoints:
            raise ValueError(
                f"average_last must be at most keep_checkpoints, given {self.average_last} and"
                f" {self.keep_checkpoints}"
            )
        return self


class ValidationSection(Section):
    """Say how often the model is tried on the validation pairs, and how."""

    every: int = Field(default=1000, ge=1)
    """Steps between two validations; there is one at the end of training in any case."""
    decode: int = Field(default=200, ge=0)
    """How many sources get a headline of their own target's length, to see whether it is met; 0 is none."""
    num_beams: int = Field(default=1, ge=1)
    """How wide the search for these headlines is."""


class Recipe(Section):
    """Be all that a run follows from."""

    name: str = Field(min_length=1)
    """What the model is called in its answers."""
    seed: int = Field(default=1, ge=0)
    """Fixes the first weights, the order of the pairs and dropout."""
    data: DataSection
    source: SourceSection = SourceSection.model_validate({})
    target: TargetSection = TargetSection.model_validate({})
    model: AnyModelSection = TransformerSection.model_validate({})
    batches: BatchSection = BatchSection.model_validate({})
    training: TrainingSection
    validation: ValidationSection = ValidationSection()


def changed_key(saved: Recipe, given: Recipe) -> str | None:
    """Name the first key that must be as it was for a run to go on, and is not."""
    before, now = (
        recipe.model_dump(include=_FIXED, exclude={"data": {"workers"}}) for recipe in (saved, given)
    )
    differing = sorted(_differing(before, now))
    return differing[0] if differing else None


_FIXED: Any = {
    **dict.fromkeys(("seed", "data", "source", "target", "model", "batches"), True),
    "training": {"batches_per_step"},
}


def _differing(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key in before.keys() | now.keys():
        one, other = before.get(key), now.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from _differing(one, other, f"{prefix}{key}.")
        elif one != other:
            yield prefix + key
