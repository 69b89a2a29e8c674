"""Recipes and other TOML files that come with the package, by name."""

from pathlib import Path

from copyfit.errors import ConfigError

RECIPES = Path(__file__).with_name("recipes")


def find(given: str | Path, folder: Path, kind: str) -> Path:
    """Return the file of a name that the package has in a folder, or of a path."""
    path = Path(given)
    if str(given) in names(folder):
        return folder / f"{given}.toml"
    if path.suffix or path.exists():
        return path
    raise ConfigError(
        f"a {kind} must be a TOML file or one of {', '.join(names(folder))}, given {str(given)!r}"
    )


def names(folder: Path) -> list[str]:
    """List what a folder of the package has."""
    return sorted(path.stem for path in folder.glob("*.toml"))
