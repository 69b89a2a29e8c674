"""The documentation says what the code does: generated parts are fresh, links, commands and flags exist."""

import re
import runpy
from pathlib import Path

import pytest

from copyfit.cli.app import COMMANDS

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
EACH_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
SHELL_LINE = re.compile(r"^\$ .*?\bcopyfit ([a-z]+)((?:\\\n|[^\n])*)", re.MULTILINE)
NAMED = re.compile(r"`copyfit ([a-z]+)")
FLAG = re.compile(r"(?<= )--[a-z][a-z-]*")


def test_generated_parts_are_as_the_code_makes_them() -> None:
    pages = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]()
    stale = [path.name for path, text in pages.items() if path.read_text(encoding="utf-8") != text]
    assert not stale, "run `make docs`"


@EACH_PAGE
def test_relative_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@EACH_PAGE
def test_commands_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = {*NAMED.findall(text), *(command for command, _ in SHELL_LINE.findall(text))}
    assert named <= set(COMMANDS)


@EACH_PAGE
def test_flags_in_examples_exist(page: Path) -> None:
    known = _flags_of_commands()
    wrong = [
        (command, flag)
        for command, rest in SHELL_LINE.findall(page.read_text(encoding="utf-8"))
        for flag in FLAG.findall(rest.split(" #")[0])
        if flag not in known[command]
    ]
    assert wrong == []


def _flags_of_commands() -> dict[str, set[str]]:
    """Read the reference, which another test holds equal to the code."""
    sections = re.split(
        r"^## `copyfit ([a-z]+)`$", (ROOT / "docs" / "cli.md").read_text("utf-8"), flags=re.MULTILINE
    )
    return {
        name: set(re.findall(r"`(--[a-z-]+)`", text))
        for name, text in zip(sections[1::2], sections[2::2], strict=True)
    }
