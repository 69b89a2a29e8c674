"""How exactly tiny models meet three lengths that training left out, the model deciding where to end."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from copyfit.examples import write_examples

TESTS = Path(__file__).parents[1] / "tests"


def measure() -> dict[str, Any]:
    """Train a model told what is left, the same with subwords, and one that is told nothing."""
    sys.path.append(str(TESTS))
    import support_method as method

    with TemporaryDirectory() as name:
        home = Path(name)
        write_examples(home / "examples")
        figures: dict[str, Any] = {"steps": method.STEPS, "headlines": method.TRIED}
        for kind in method.KINDS:
            writer = method.trained(home / "examples", home / kind, kind)
            found = zip(method.UNSEEN, method.errors(writer, home / "examples"), strict=True)
            figures[kind] = {str(length): error._asdict() for length, error in found}
    return figures
