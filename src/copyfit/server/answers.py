"""What is answered, as programs and the document of the service read it."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from copyfit.server.question import LONGEST_TEXT
from copyfit.server.tickets import Item
from copyfit.text.normal import normalise
from copyfit.text.presets import Preset
from copyfit.text.units import UNITS, count
from copyfit.writing.answers import answer
from copyfit.writing.headline import Result

TOO_LONG = f"the text must have at most {LONGEST_TEXT} characters; send its beginning"
EMPTY = "the text must not be empty; give an article to write a headline for"
NOT_MET = (
    "no headline meets these wishes: min must not be above the length, and what is required and how it begins"
    " must be characters that the model knows, must not be blank, and must fit into the length together"
)


class HeadlineAnswer(BaseModel):
    """One headline and the truth about it."""

    text: str
    length: int
    fits: bool
    whole_words: bool
    score: float
    aim: int
    counts: dict[str, int]


class ResultAnswer(BaseModel):
    """What came of one text and one length."""

    index: int
    budget: int | None
    unit: str | None
    mode: str | None
    preset: str | None
    headlines: list[HeadlineAnswer]
    truncated: bool
    model: str
    error: str | None
    min: int = 0


class Usage(BaseModel):
    """What a request took."""

    texts: int
    headlines: int
    milliseconds: int


class Answer(BaseModel):
    """What came of a request."""

    model: str
    results: list[ResultAnswer]
    usage: Usage


class ErrorDetail(BaseModel):
    """Why a request was refused."""

    message: str
    type: str
    code: int
    field: str | None


class ErrorAnswer(BaseModel):
    """A refusal."""

    error: ErrorDetail


class ModelAnswer(BaseModel):
    """A model, and the budget it takes by itself."""

    name: str
    unit: str
    natural_length: int


class ModelsAnswer(BaseModel):
    """The models that are served."""

    models: list[ModelAnswer]


class PresetAnswer(BaseModel):
    """The budget of a platform."""

    name: str
    unit: str
    limit: int
    mode: str
    minimum: int | None
    note: str
    reference: str


class PresetsAnswer(BaseModel):
    """The presets that can be named."""

    presets: list[PresetAnswer]


class StateAnswer(BaseModel):
    """How the service is."""

    status: str


def refused(text: str) -> str | None:
    """Return what is wrong with a text before any work is done on it."""
    if len(text) > LONGEST_TEXT:
        return TOO_LONG
    return None if normalise(text) else EMPTY


def result_values(item: Item, result: Result, *, model: str) -> dict[str, Any]:
    """Return the answer to one text and one length, with the count of every headline in every unit."""
    values = answer(item.index, item.wish, result, model=model)
    for headline in values["headlines"]:
        headline["counts"] = {unit: count(headline["text"], unit) for unit in UNITS}
    return values


def preset_values(presets: Sequence[Preset]) -> dict[str, Any]:
    """Return the answer that lists presets."""
    return {"presets": [preset._asdict() for preset in presets]}
