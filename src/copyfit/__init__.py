"""Text that fits: headlines of an exact length, in any unit."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from copyfit.text.presets import Preset
    from copyfit.text.units import count
    from copyfit.writing.headline import Headline
    from copyfit.writing.writer import Writer

__version__ = "0.1.0"
__all__ = ["Headline", "Writer", "__version__", "count", "presets"]

_HOMES = {
    "Headline": "copyfit.writing.headline",
    "Writer": "copyfit.writing.writer",
    "count": "copyfit.text.units",
}


def presets() -> "tuple[Preset, ...]":
    """Return the budgets of real platforms."""
    from copyfit.text.presets import PRESETS

    return PRESETS


def __getattr__(name: str) -> Any:
    # Loaded when first asked for: the command line must answer before arrays and tokenizers are imported.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
