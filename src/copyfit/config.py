"""Read TOML into frozen sections; every unknown key is an error."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from copyfit.errors import ConfigError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


class Section(BaseModel):
    """Be a part of a recipe: frozen, typed, closed to unknown keys. Declared beside its reader."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


S = TypeVar("S", bound=Section)


def read_toml(path: Path, section: type[S], overrides: Iterable[str] = ()) -> S:
    """Read a TOML file, change single keys by `dotted.key=value` overrides, and check the result."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise ConfigError(f"cannot read {path}: {problem.strerror}") from problem
    except UnicodeDecodeError as problem:
        raise ConfigError(f"{path} must be UTF-8 text: byte {problem.start} is not") from problem
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"{path} must be TOML: {problem}") from problem
    for override in overrides:
        _override(values, override)
    return check(values, section, where=str(path))


def check(values: Mapping[str, Any], section: type[S], *, where: str) -> S:
    """Build a section from plain values; name the first wrong key in one line."""
    try:
        return section.model_validate(values)
    except ConfigError as problem:
        raise ConfigError(f"{where}: {problem}") from problem
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        raise ConfigError(f"{where}: {_complaint(first, section)}") from problem


def _complaint(error: "ErrorDetails", section: type[BaseModel]) -> str:
    key = ".".join(map(str, error["loc"]))
    match error["type"]:
        case "extra_forbidden":
            return f"unknown key {key!r}{_suggest(section, error['loc'])}"
        case "missing":
            return f"the key {key!r} must be given"
        case "value_error":
            # A section's own rule, which says itself what was given.
            message = error["msg"].removeprefix("Value error, ")
            return f"{key}: {message}" if key else message
    return f"{key}: {error['msg']}, given {error['input']!r}"


def _suggest(section: type[BaseModel], location: tuple[int | str, ...]) -> str:
    known: list[str] = []
    for part in location:
        known = list(section.model_fields)
        field = section.model_fields.get(str(part))
        inner = field.annotation if field else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            break
        section = inner
    close = difflib.get_close_matches(str(location[-1]), known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else f"; known keys are {', '.join(sorted(known))}"


def _override(values: dict[str, Any], override: str) -> None:
    dotted, equals, text = override.partition("=")
    if not equals or not dotted:
        raise ConfigError(f"a setting must look like key=value, given {override!r}")
    *parents, last = dotted.strip().split(".")
    for parent in parents:
        values = values.setdefault(parent, {})
        if not isinstance(values, dict):
            raise ConfigError(f"{dotted} cannot be set: {parent} is not a section")
    values[last] = _toml_value(text.strip())


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def write_toml(section: Section) -> str:
    """Write a section as TOML, sections last, so that `read_toml` gives the same again."""
    return "\n".join(_lines(section.model_dump(mode="json", exclude_none=True), "")) + "\n"


def _lines(values: Mapping[str, Any], prefix: str) -> list[str]:
    plain = [f"{key} = {_literal(value)}" for key, value in values.items() if not isinstance(value, dict)]
    for key, value in values.items():
        if isinstance(value, dict):
            plain += ["", f"[{prefix}{key}]", *_lines(value, f"{prefix}{key}.")]
    return plain


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = "".join(c if c >= " " and c not in '"\\\x7f' else f"\\u{ord(c):04x}" for c in value)
        return f'"{escaped}"'
    if isinstance(value, list):
        return f"[{', '.join(_literal(item) for item in value)}]"
    return repr(value)
