"""The page in a real browser, driven by what a person does."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from copyfit.writing.writer import Writer
from support_serving import serving
from support_writing import ARTICLE, save_tiny

pytestmark = pytest.mark.long
HERE = Path(__file__).parent / "page"
KEY = "a-key-of-some-length"


def browser() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.skipif(not (HERE / "node_modules").is_dir(), reason="needs node and npm; see make setup")
@pytest.mark.skipif(browser() is None, reason="needs chromium")
def test_a_person_writes_headlines_on_the_page(tmp_path: Path) -> None:
    writer = Writer(save_tiny(tmp_path / "tiny"), device="cpu")
    with serving(writer) as served, serving(writer, keys=[KEY]) as keyed:
        place = {"URL": served.url, "KEYED": keyed.url, "KEY": KEY, "STORY": ARTICLE, "CHROMIUM": browser()}
        told = subprocess.run(
            ["node", "--test", "--test-timeout=60000", str(HERE / "page.test.js")],
            env={**os.environ, **{name: str(value) for name, value in place.items()}},
            capture_output=True,
            text=True,
        )
    assert told.returncode == 0, told.stdout
