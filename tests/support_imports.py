"""Share what tests of released need."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from copyfit.errors import CopyfitError
from copyfit.released.convert import Released, import_released
from copyfit.released.dictionary import Dictionary
from support_released import (
    Kind,
    content_of,
    save,
    write_dictionary,
)


def dictionary(tokens: Sequence[str]) -> Dictionary:
    return Dictionary(tuple(tokens), tuple(range(len(tokens), 0, -1)))


LRPE_PE = Kind(lrpe=True, pe=True, share="all")


class Files(NamedTuple):
    """The files that a test imports, and where to."""

    released: Released
    output: Path

    def imported(self) -> Path:
        import_released(self.released, self.output)
        return self.output

    def refused(self) -> str:
        """Import, and return why it failed; nothing may be left behind."""
        before = sorted(self.output.parent.iterdir())
        with pytest.raises(CopyfitError) as caught:
            import_released(self.released, self.output)
        assert sorted(self.output.parent.iterdir()) == before
        message = str(caught.value)
        assert "\n" not in message
        return message


def files(folder: Path, kind: Kind = LRPE_PE, content: dict[str, Any] | None = None, **how: Any) -> Files:
    return Files(
        Released(
            save(folder / "checkpoint_best.pt", content or content_of(kind), **how),
            write_dictionary(folder / "dict.article.txt", kind.source_tokens),
            write_dictionary(folder / "dict.title.txt", kind.target_tokens),
        ),
        folder / "model",
    )
