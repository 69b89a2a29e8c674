"""All commands, and what their ends mean to the shell."""

import io
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from keyword import iskeyword
from typing import Annotated, Any, cast

import typer

from copyfit import __version__
from copyfit.cli import talk
from copyfit.errors import CopyfitError

USER_ERROR = 2
INTERRUPTED = 130

COMMANDS = {
    "write": "Write headlines that fit.",
    "train": "Train a model by a recipe.",
    "prepare": "Turn a recipe's pairs into the store that training reads; tell what was dropped.",
    "evaluate": "Write a headline for each pair of a file and measure quality and length error.",
    "rouge": "Score summaries against references, equal to ROUGE-1.5.5.pl to the last digit.",
    "compare": "Say how far two systems differ on the same items, and whether by more than chance.",
    "reproduce": "Train, test and record what a matrix lists and is not recorded yet; end with the tables.",
    "tables": "Lay out records as the paper's tables and figures, beside what was published.",
    "average": "Write a model whose weights are the means of those of several others.",
    "export": "Write a model as two graphs that run without PyTorch, checked against it.",
    "import": "Convert a checkpoint of the paper's released code, without running anything in it.",
    "serve": "Serve headlines over HTTP, and a page to write them in.",
    "page": "Write the page with a model that runs in the browser, for any server of files.",
    "info": "Describe a model folder, after checking that it is whole.",
    "benchmark": "Say how fast headlines of made-up news are written here, one by one and in batches.",
    "models": "List the models that can be named.",
    "presets": "List the budgets of real platforms.",
    "count": "Count a text.",
    "corpus": "Turn a corpus as its owners ship it into files to train on and to evaluate on.",
    "examples": "Write made-up news to train on and an article to try.",
}
"""The summary of each command; its module, of the same name, is loaded when it runs."""


def run(arguments: Sequence[str]) -> int:
    """Run a command; return 0, 2 for what the user can mend, 130 when interrupted. Bugs are raised."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        app = _build(arguments[0] if arguments else "")
        code = app(list(arguments) or ["--help"], prog_name="copyfit", standalone_mode=False)
        talk.flush()
    except CopyfitError as problem:
        talk.note(f"error: {problem}")
        return USER_ERROR
    except typer.TyperException as problem:
        talk.note(f"error: {problem.format_message()}")
        return USER_ERROR
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except (BrokenPipeError, SystemExit) as problem:
        # Within a command typer has made a SystemExit of it, of code 1, which is kept for bugs.
        if not isinstance(problem.__context__ or problem, BrokenPipeError):
            raise
        talk.hush()
        return 0
    return code if isinstance(code, int) else 0


def function_of(command: str) -> Callable[..., Any]:
    """Load the function of a command; Python keeps some names to itself, which get an underscore."""
    name = f"{command}_" if iskeyword(command) else command
    return cast(Callable[..., Any], getattr(import_module(f"copyfit.cli.{name}"), name))


def _build(wanted: str) -> typer.Typer:
    """Build the program with one command that runs and the names of all others."""
    app = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_program)
    for name, summary in COMMANDS.items():
        if name == wanted:
            app.command(name)(function_of(name))
        else:
            app.command(name, help=summary)(_named_only)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        talk.put(__version__)
        raise typer.Exit


def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Write text that fits: headlines of an exact length, in any unit."""


def _named_only() -> None:
    """Stand for a command that was not asked for."""
