"""What can be asked: the body of a request, with the limits of every field."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from copyfit.server.problems import RefusalError, invalid, malformed
from copyfit.text.presets import PRESETS
from copyfit.text.units import UNITS
from copyfit.writing.requests import MAX_REQUIRED, Mode, Wish

MOST_TEXTS = 32
MOST_LENGTHS = 8
LONGEST = 500
"""The greatest length that can be asked for, in any unit."""
MOST_BEAMS = 20
MOST_CANDIDATES = 20
LONGEST_TEXT = 50_000
LONGEST_WISH = 100
"""How many characters a required word or a beginning may have."""

_PRESETS = tuple(preset.name for preset in PRESETS if preset.limit <= LONGEST)


def _named(name: str, known: Sequence[str]) -> str:
    if name not in known:
        raise PydanticCustomError("name", f"must be one of {', '.join(known)}")
    return name


def _whole(value: object) -> object:
    """Take 30.0 for 30, as JSON does, which knows one kind of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Length = Annotated[int, Field(ge=1, le=LONGEST), BeforeValidator(_whole)]
Candidates = Annotated[int, Field(ge=1, le=MOST_CANDIDATES), BeforeValidator(_whole)]
NumBeams = Annotated[int, Field(ge=1, le=MOST_BEAMS), BeforeValidator(_whole)]
Word = Annotated[str, Field(max_length=LONGEST_WISH)]
UnitName = Annotated[
    str, AfterValidator(lambda name: _named(name, UNITS)), Field(json_schema_extra={"enum": list(UNITS)})
]
PresetName = Annotated[
    str,
    AfterValidator(lambda name: _named(name, _PRESETS)),
    Field(json_schema_extra={"enum": list(_PRESETS)}),
]

_NOTHING = {"type": "null"}
_WHOLE = {"type": "integer"}
_NAME = {"type": "string"}
_NO_BOUNDS = {"length": _NOTHING, "lengths": _NOTHING, "min": _NOTHING}
_ONE = {**_NO_BOUNDS, "preset": _NOTHING}
_BELOW = {"mode": {"enum": [None, "exact", "max", "free"]}}
_BETWEEN = {"min": _WHOLE, "mode": {"enum": [None, "range"]}}
_SEVERAL = {"lengths": {"type": "array"}}
_BUDGETS: tuple[tuple[list[str], dict[str, Any]], ...] = (
    # Left to the model; one length, or several; from a minimum on, up to none, one or several; a preset.
    ([], {**_ONE, "unit": _NOTHING, "mode": {"enum": [None, "free"]}}),
    (["length"], {**_ONE, **_BELOW, "length": _WHOLE}),
    (["lengths"], {**_ONE, **_BELOW, **_SEVERAL}),
    (["min"], {**_ONE, **_BETWEEN}),
    (["min", "length"], {**_ONE, **_BETWEEN, "length": _WHOLE}),
    (["min", "lengths"], {**_ONE, **_BETWEEN, **_SEVERAL}),
    (["preset"], {**_NO_BOUNDS, "preset": _NAME, "unit": _NOTHING}),
)
_RULES: dict[str, Any] = {
    "allOf": [
        {
            "oneOf": [
                {"required": ["text"], "properties": {"text": _NAME, "texts": _NOTHING}},
                {"required": ["texts"], "properties": {"texts": {"type": "array"}, "text": _NOTHING}},
            ]
        },
        {"anyOf": [{"required": required, "properties": fields} for required, fields in _BUDGETS]},
    ],
    "examples": [
        {"text": "Five-alarm fire destroys a warehouse on the harbour front ...", "length": 30},
        {"texts": ["..."], "lengths": [30, 50], "unit": "char", "mode": "exact", "candidates": 3},
    ],
}


class Question(BaseModel):
    """Ask for headlines of one text or several, each in one length or several."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, json_schema_extra=_RULES)

    text: str | None = Field(None, description="The one text.")
    texts: list[str] | None = Field(
        None, min_length=1, max_length=MOST_TEXTS, description="Several texts; one that is bad fails alone."
    )
    length: Length | None = Field(None, description="The one budget.")
    lengths: list[Length] | None = Field(
        None, min_length=1, max_length=MOST_LENGTHS, description="Several budgets, for each text."
    )
    min: Length | None = Field(None, description="The least length, in mode range.")
    unit: UnitName | None = Field(None, description="What is counted; char where a length is given.")
    mode: Mode | None = Field(None, description="exact, max, range or free; exact with a length.")
    preset: PresetName | None = Field(None, description="The budget, the unit and the mode of a platform.")
    candidates: Candidates = Field(1, description="How many headlines, for each length.")
    num_beams: NumBeams = Field(5, description="How wide to search.")
    require: list[Word] = Field([], max_length=MAX_REQUIRED, description="Words that must occur.")
    start: Word | None = Field(None, description="How the headline must begin.")
    stream: bool = Field(False, description="Send what each batch wrote as soon as that batch is done.")

    @property
    def all_texts(self) -> list[str]:
        """Return the texts, however many were given."""
        return [self.text or ""] if self.texts is None else self.texts

    @property
    def wishes(self) -> list[Wish]:
        """Return one wish for each length."""
        wish = Wish(self.length, self.min, self.unit, self.mode, self.preset, tuple(self.require), self.start)
        return [wish] if self.lengths is None else [replace(wish, length=length) for length in self.lengths]


def parse(body: bytes) -> Question:
    """Read a body; refuse what is no JSON object, what a field cannot be, and fields that contradict."""
    try:
        question = Question.model_validate_json(body)
    except ValidationError as problem:
        raise _refusal(problem) from None
    _check_text(question)
    _check_budget(question)
    return question


def _refusal(problem: ValidationError) -> RefusalError:
    first = problem.errors(include_url=False, include_context=False, include_input=False)[0]
    kind, message = first["type"], first["msg"]
    if kind in {"json_invalid", "model_type", "string_unicode"}:
        # The parser's message tells a place and a kind of mistake, never a part of the body.
        return malformed(f"the body must be a JSON object in UTF-8: {message}")
    field = ".".join(map(str, first["loc"]))
    if kind == "extra_forbidden":
        return invalid(None, f"a field is not known; fields are {', '.join(Question.model_fields)}")
    return invalid(field, f"{field}: {message}")


def _check_text(question: Question) -> None:
    if question.text is None and question.texts is None:
        raise invalid("text", "text or texts must be given")
    if question.text is not None and question.texts is not None:
        raise invalid("texts", "text and texts must not both be given")


def _check_budget(question: Question) -> None:
    if question.length is not None and question.lengths is not None:
        raise invalid("lengths", "length and lengths must not both be given")
    if question.preset is not None:
        _check_preset(question)
    elif question.min is not None:
        if question.mode not in {None, "range"}:
            raise invalid("min", "min goes with mode range")
    elif question.mode == "range":
        raise invalid("min", "mode range needs a min")
    elif question.length is None and question.lengths is None:
        _check_natural(question)


def _check_preset(question: Question) -> None:
    for name in ("length", "lengths", "min", "unit"):
        if getattr(question, name) is not None:
            raise invalid(name, f"a preset brings its own budget and unit; leave {name} out")


def _check_natural(question: Question) -> None:
    if question.unit is not None:
        raise invalid("unit", "a unit needs a length")
    if question.mode not in {None, "free"}:
        raise invalid("mode", f"mode {question.mode} needs a length")
