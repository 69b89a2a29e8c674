"""The program itself: help, ends, streams, interrupts."""

import inspect
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from copyfit import __version__
from copyfit.cli.app import COMMANDS, function_of, run
from support_cli import Output, complaint, stdin
from support_writing import ARTICLE, save_tiny


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny(tmp_path_factory.mktemp("models") / "tiny"))


def program(*arguments: str, **more: Any) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run([sys.executable, "-m", "copyfit", *arguments], capture_output=True, **more)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_the_commands(arguments: list[str], capsys: Output) -> None:
    assert run(arguments) == 0
    out = capsys.readouterr().out
    assert all(f"  {command} " in out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_as_it_is_listed(command: str, capsys: Output) -> None:
    assert inspect.getdoc(function_of(command)) == COMMANDS[command]
    assert run([command, "--help"]) == 0
    assert " ".join(COMMANDS[command].split()[:4]) in capsys.readouterr().out


def test_the_version_is_shown(capsys: Output) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"{__version__}\n"


@pytest.mark.parametrize("arguments", [["wirte"], ["--nothing"]])
def test_an_unknown_command_is_told_in_one_line(arguments: list[str], capsys: Output) -> None:
    assert run(arguments) == 2
    assert complaint(capsys).startswith("copyfit: error: No such")


HEAVY = {"torch", "numpy", "pydantic", "tokenizers", "pyarrow", "rich", "onnxruntime", "safetensors"}


def test_help_loads_no_heavy_library() -> None:
    script = (
        "import sys; from copyfit.cli.app import run; run(['--help']);"
        f"sys.exit(sorted({HEAVY} & set(sys.modules)) or 0)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stderr == ""


def quickest(*command: str) -> float:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def test_help_is_quick() -> None:
    # As a ratio to an interpreter that does nothing, so that a busy machine is no failure.
    bare = quickest(sys.executable, "-c", "pass")
    assert quickest(sys.executable, "-m", "copyfit", "--help") < 12 * bare


def test_the_program_ends_as_promised(model: str) -> None:
    done = program("write", ARTICLE, "--length", "8", "--model", model)
    assert (done.returncode, len(done.stdout.decode()), done.stderr) == (0, 9, b"")
    failed = program("write", "x", "--length", "0", "--model", model)
    assert (failed.returncode, failed.stdout) == (2, b"")
    assert failed.stderr == b"copyfit: error: length must be from 1 to 10000, given 0\n"


@pytest.mark.parametrize("arguments", [["presets"], ["--version"], ["count", "--lines"]])
def test_a_reader_that_goes_away_is_no_error(
    arguments: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin(monkeypatch, b"text\n" * 9_000)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert run(arguments) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("buffering", [-1, 1])
def test_a_full_disk_is_told_in_one_line(
    buffering: int, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Path("/dev/full").open("w", buffering)  # noqa: SIM115 - closing it fails, as it must
    monkeypatch.setattr(sys, "stdout", stream)
    assert run(["--version"]) == 2
    message = "cannot write to standard output: No space left on device"
    assert capsys.readouterr().err == f"copyfit: error: {message}\n"
    with pytest.raises(OSError, match="No space left"):
        stream.close()


def test_standard_output_may_be_no_real_file(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    assert run(["--version"]) == 0
    assert stream.getvalue() == f"{__version__}\n"


class Interrupted(io.RawIOBase):
    """Be an input at which someone presses Ctrl-C."""

    def readable(self) -> bool:
        return True

    def readinto(self, _: Any) -> int:
        signal.raise_signal(signal.SIGINT)
        return 0


def test_an_interrupt_is_130(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Interrupted())))
    assert run(["count"]) == 130
    assert capsys.readouterr() == ("", "")


def test_an_interrupted_program_leaves_with_130_and_no_traceback(model: str) -> None:
    command = [sys.executable, "-m", "copyfit", "write", "--lines", "--length", "5", "--model", model]
    with subprocess.Popen(
        [*command, "--batch-size", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"A storm\n" * 9)
        process.stdin.flush()
        # The first headline tells that it is at work, waiting for more lines.
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == 130
    assert errors == b""


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1"])
def test_output_is_utf8_in_every_locale(locale: str) -> None:
    environment = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = program("presets", env=environment)
    assert done.returncode == 0
    done.stdout.decode("utf-8")


@pytest.mark.parametrize(
    ("arguments", "closed", "message"),
    [
        ("count abc", ">&-", "standard output must be open, it is closed; leave out >&-"),
        ("count", "<&-", "standard input must be open, it is closed; leave out <&-"),
        ("write --length 9", "<&-", "standard input must be open, it is closed; leave out <&-"),
        ("write --length 9 --input -", "<&-", "standard input must be open, it is closed; leave out <&-"),
        ("write storm --length 9", ">&-", "standard output must be open, it is closed; leave out >&-"),
    ],
)
def test_a_closed_stream_is_told(model: str, arguments: str, closed: str, message: str) -> None:
    more = f"--model {model}" if arguments.startswith("write") else ""
    done = shell(f"{arguments} {more} {closed}")
    assert (done.returncode, done.stderr) == (2, f"copyfit: error: {message}\n")


def shell(line: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["sh", "-c", f"{sys.executable} -m copyfit {line}"], capture_output=True, text=True)


def test_a_closed_stream_that_is_not_needed_is_no_mistake(model: str, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("A storm\n", encoding="utf-8")
    files = f"--input {tmp_path}/in.txt --output {tmp_path}/out.txt"
    done = shell(f"write --length 9 --model {model} {files} <&- >&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert len((tmp_path / "out.txt").read_text(encoding="utf-8")) == 10
    assert shell("count abc --unit mile 2>&-").returncode == 2
