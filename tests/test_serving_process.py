"""`copyfit serve` as processes: signals, workers that die, ports that are taken."""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pytest

from copyfit.cli.app import run as run_command
from copyfit.errors import ConfigError
from copyfit.server.settings import Place, Settings
from copyfit.server.workers import run
from support_writing import ARTICLE, save_tiny

pytestmark = pytest.mark.long
PATIENCE = 120.0


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def own_logs() -> Iterator[None]:
    """Give the handlers of this process back after what takes them."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = before


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def ask(port: int, method: str, path: str, values: object = None) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        body = None if values is None else json.dumps(values)
        connection.request(method, path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def served(port: int) -> bool:
    return ask(port, "POST", "/v1/headlines", {"text": ARTICLE, "length": 9})[0] == 200


def ask_while_refused(port: int) -> None:
    while not served(port):
        pass
    raise AssertionError


def test_the_signal_to_stop_lets_running_work_end_and_is_a_good_end(model: Path) -> None:
    command = [sys.executable, "-m", "copyfit", "serve", "--model", str(model), "--port", "0"]
    with subprocess.Popen([*command, "--batch-size", "4"], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        listening = json.loads(process.stderr.readline())
        port = int(listening["url"].rstrip("/").rpartition(":")[2])
        texts = {"texts": [ARTICLE] * 32, "length": 30}
        with ThreadPoolExecutor(2) as pool:
            running = [pool.submit(ask, port, "POST", "/v1/headlines", texts) for _ in range(2)]
            while "copyfit_running_requests 2.0" not in ask(port, "GET", "/metrics")[1].decode():
                pass
            process.send_signal(signal.SIGTERM)
            outcomes = [each.result() for each in running]
        assert [status for status, _ in outcomes] == [200] * 2
        assert all(len(json.loads(body)["results"]) == 32 for _, body in outcomes)
        # Refused by an answer first, and then because nobody listens any more.
        with pytest.raises((OSError, HTTPException)):
            ask_while_refused(port)
        lines = [json.loads(line) for line in process.stderr]
        assert process.wait(PATIENCE) == 0
    assert "draining" in [line["event"] for line in lines]


@pytest.mark.usefixtures("own_logs")
def test_workers_share_a_port_and_one_that_is_killed_is_replaced(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copyfit.server.workers._YOUNG", 0.0)
    port = free_port()

    def person() -> None:
        try:
            until(lambda: served(port))
            before = children()
            assert len(before) == 2
            os.kill(min(before), signal.SIGKILL)
            until(lambda: len(children()) == 2 and min(before) not in children())
            for _ in range(4):
                assert served(port)
            text = ask(port, "GET", "/metrics")[1].decode()
            assert 'copyfit_requests_total{route="/v1/headlines",status="200"}' in text
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(person)
        run(Place((str(model),), port=port, workers=2), Settings(drain=1))
        done.result()
    assert children() == set()


def until(holds: Callable[[], bool]) -> None:
    """Ask until something holds; while a worker is being replaced, its clients lose their connections."""
    for _ in range(100_000):
        try:
            if holds():
                return
        except (OSError, HTTPException):
            continue
    raise AssertionError


def children() -> set[int]:
    """Return the processes that are workers of this one."""
    found = set()
    for path in Path(f"/proc/{os.getpid()}/task").iterdir():
        for child in (path / "children").read_text().split():
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.add(int(child))
    return found


@pytest.mark.usefixtures("own_logs")
def test_workers_that_cannot_start_are_not_started_again(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a worker must run, worker \d ended at once with code 2"):
        run(Place((str(tmp_path / "none"),), port=0, workers=2), Settings())


@pytest.mark.usefixtures("own_logs")
def test_what_cannot_be_served_is_told_in_one_line(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for flags, message in (
            (["--model", str(model), "--port", port], "cannot listen at 127.0.0.1, port"),
            (["--model", str(model), "--port", "70000"], "port must be from 0"),
            (["--model", str(tmp_path / "none"), "--port", "0"], "none"),
            (["--model", str(model), "--workers", "0"], "workers must be at least 1"),
            (["--model", str(model), "--queue", "0"], "queue must be above 0"),
            (
                ["--model", str(model), "--keys", str(tmp_path / "none")],
                "must be a readable text file of keys",
            ),
        ):
            assert run_command(["serve", *flags]) == 2
            error = capsys.readouterr().err
            assert error.startswith("copyfit: error: ")
            assert error.count("\n") == 1
            assert message in error
