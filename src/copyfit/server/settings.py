"""What an operator of the service decides."""

from dataclasses import dataclass
from pathlib import Path

from copyfit.errors import ConfigError

SHORTEST_KEY = 16


@dataclass(frozen=True)
class Settings:
    """Hold the limits of a service; those of single fields stand in `server.question`."""

    keys: tuple[str, ...] = ()
    """Whoever has one of these may ask; none lets everyone ask."""
    batch_size: int = 32
    """How many searches run together."""
    queue: int = 512
    """How many headlines may wait."""
    deadline: float = 30.0
    """After how many seconds a request is given up."""
    drain: float = 25.0
    """How many seconds running work has after the signal to stop."""
    body: int = 1 << 20
    """How many bytes a request may have."""

    def __post_init__(self) -> None:
        for name in ("batch_size", "queue", "deadline", "drain", "body"):
            value = getattr(self, name)
            if not value > 0:
                raise ConfigError(f"{name.replace('_', '-')} must be above 0, given {value}")


@dataclass(frozen=True)
class Place:
    """Say which model is served, and where."""

    models: tuple[str, ...]
    device: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    proxy: str = "127.0.0.1"
    """The addresses whose word is taken for where a request comes from, by commas."""


def read_keys(path: Path) -> tuple[str, ...]:
    """Read a file of API keys, one a line; lines that begin with # are notes."""
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").split("\n")]
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{path} must be a readable text file of keys: {problem}") from problem
    keys = tuple(line for line in lines if line and not line.startswith("#"))
    if not keys:
        raise ConfigError(f"{path} must have at least one key, it has none; write one a line")
    for number, key in enumerate(keys, 1):
        if len(key) < SHORTEST_KEY or not (key.isascii() and key.isprintable()) or " " in key:
            raise ConfigError(
                f"a key must be {SHORTEST_KEY} or more ASCII characters without spaces,"
                f" key {number} of {path} is not"
            )
    return keys
