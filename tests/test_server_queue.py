"""Requests that wait, take too long, or are there when the service ends."""

import json
import logging
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from copyfit.server.logs import JsonFormatter
from copyfit.writing.writer import Writer
from support_serving import JSON, KEYS, PATIENCE, Served, Slow, serving
from support_writing import ARTICLE, save_tiny


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Writer:
    return Writer(save_tiny(tmp_path_factory.mktemp("models") / "tiny"), device="cpu")


@pytest.fixture(scope="module")
def served(writer: Writer) -> Iterator[Served]:
    with serving(writer, body=100_000) as served:
        yield served


@pytest.fixture
def slow() -> Slow:
    return Slow()


def asking(served: Served, pool: ThreadPoolExecutor, *texts: str, **headers: str) -> Any:
    return [pool.submit(served.post, {"text": text, "length": 9}, headers) for text in texts]


def test_a_full_queue_refuses_at_once_and_says_when_to_come_back(slow: Slow) -> None:
    with serving(slow, queue=4, batch_size=1) as served, ThreadPoolExecutor(9) as pool:
        running = asking(served, pool, "first")
        slow.wait_until(lambda writer: writer.batches == [["first"]])
        many = {"texts": ["a", "b", "c", "d", "e"], "length": 9}
        waiting = pool.submit(served.post, many)
        until(lambda: served.numbers()["copyfit_queue_headlines"] == 5)
        response = served.send("POST", "/v1/headlines", json.dumps(many).encode(), JSON)
        assert response.status == 429
        assert 1 <= int(response.headers["Retry-After"]) <= 60
        assert json.loads(response.read())["error"]["type"] == "overloaded"
        assert served.get("/ready")[0] == served.get("/health")[0] == 200
        slow.open()
        assert [each.result()[0] for each in (*running, waiting)] == [200, 200]
        assert served.numbers()["copyfit_refused_requests_total"] == 1


def until(holds: Any) -> None:
    """Ask the service until something holds."""
    assert any(holds() for _ in range(10_000))


def test_one_client_does_not_keep_the_others_waiting(slow: Slow) -> None:
    greedy, modest = ({"Authorization": f"Bearer {key}"} for key in KEYS)
    with serving(slow, keys=KEYS, batch_size=1) as served, ThreadPoolExecutor(9) as pool:
        first = asking(served, pool, "first", **greedy)
        slow.wait_until(lambda writer: len(writer.batches) == 1)
        many = pool.submit(served.post, {"texts": ["g"] * 20, "length": 9}, greedy)
        until(lambda: served.numbers()["copyfit_queue_headlines"] == 20)
        other = asking(served, pool, "m", **modest)
        until(lambda: served.numbers()["copyfit_queue_headlines"] == 21)
        slow.open()
        assert [each.result()[0] for each in (*first, many, *other)] == [200] * 3
    assert ["m"] in slow.batches[:4]


def test_requests_that_wait_are_searched_together_whatever_their_lengths(slow: Slow) -> None:
    with serving(slow) as served, ThreadPoolExecutor(9) as pool:
        running = asking(served, pool, "first")
        slow.wait_until(lambda writer: len(writer.batches) == 1)
        several = [
            pool.submit(served.post, {"text": text, **budget})
            for text, budget in (("a", {"length": 9}), ("b", {"length": 30, "unit": "byte"}), ("c", {}))
        ]
        until(lambda: served.numbers()["copyfit_queue_headlines"] == 3)
        slow.open()
        assert [each.result()[0] for each in (*running, *several)] == [200] * 4
    assert [sorted(batch) for batch in slow.batches] == [["first"], ["a", "b", "c"]]


def test_a_request_that_takes_too_long_is_given_up_and_its_work_stops(slow: Slow) -> None:
    with serving(slow, deadline=0.2) as served:
        status, told = served.post({"text": "a", "length": 9})
        assert (status, told["error"]["type"]) == (504, "deadline")
        slow.wait_until(lambda writer: writer.withdrawn == ["a"])
        body = json.dumps({"text": "b", "length": 9, "stream": True}).encode()
        response = served.send("POST", "/v1/headlines", body, JSON)
        assert b'event: error\ndata: {"error": {"message": "a request may take 0.2 s' in response.read()
        slow.wait_until(lambda writer: writer.withdrawn == ["a", "b"])


@pytest.mark.parametrize("stream", [False, True])
def test_work_stops_when_its_client_has_gone(slow: Slow, stream: bool) -> None:
    with serving(slow) as served:
        body = json.dumps({"text": "a", "length": 9, "stream": stream}).encode()
        head = "POST /v1/headlines HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", served.port)) as connection:
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            slow.wait_until(lambda writer: len(writer.batches) == 1)
        slow.wait_until(lambda writer: writer.withdrawn == ["a"])
        until(lambda: 'copyfit_requests_total{route="/v1/headlines",status="499"}' in served.numbers())
        slow.open()
        assert served.post({"text": "b", "length": 9})[0] == 200


def test_a_client_that_sends_too_slowly_is_given_up_and_others_are_served(slow: Slow) -> None:
    slow.open()
    with (
        serving(slow, deadline=1.0) as served,
        socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as connection,
    ):
        head = b"POST /v1/headlines HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        connection.sendall(head + b'Content-Length: 99\r\n\r\n{"text": ')
        assert served.post({"text": ARTICLE, "length": 9})[0] == 200
        assert connection.recv(100).startswith(b"HTTP/1.1 504 ")


def test_a_bug_that_one_text_brings_out_fails_it_alone_and_its_text_is_not_logged(
    slow: Slow, caplog: pytest.LogCaptureFixture
) -> None:
    slow.open()
    with caplog.at_level(logging.INFO), serving(slow) as served:
        status, told = served.post({"texts": ["secret", "bug", "words"], "length": 9})
    assert status == 200
    assert [values["error"] is None for values in told["results"]] == [True, False, True]
    assert "log" in told["results"][1]["error"]
    lines = [JsonFormatter().format(record) for record in caplog.records]
    assert any(json.loads(line).get("exception") == "ZeroDivisionError" for line in lines)
    requests = [json.loads(line) for line in lines if json.loads(line)["event"] == "request"]
    assert requests[0].items() >= {"status": 200, "texts": 3, "route": "/v1/headlines"}.items()
    assert not any(word in line for line in lines for word in ("secret", "words"))


def test_running_work_ends_well_and_new_work_is_refused_when_told_to_stop(slow: Slow) -> None:
    with serving(slow) as served, ThreadPoolExecutor(2) as pool:
        running = asking(served, pool, "a")
        slow.wait_until(lambda writer: len(writer.batches) == 1)
        loop_of(served).call_soon_threadsafe(served.server.stop)
        until(lambda: served.get("/ready")[0] == 503)
        status, told = served.post({"text": "b", "length": 9})
        assert (status, told["error"]["type"]) == (503, "not_ready")
        assert served.get("/health")[0] == 200
        slow.open()
        assert running[0].result()[0] == 200
    assert slow.batches == [["a"]]


def test_work_that_does_not_end_within_the_drain_time_is_given_up(slow: Slow) -> None:
    with serving(slow, drain=0.1) as served, ThreadPoolExecutor(2) as pool:
        running = pool.submit(served.send, "POST", "/v1/headlines", b'{"text": "a"}', JSON)
        slow.wait_until(lambda writer: len(writer.batches) == 1)
        loop_of(served).call_soon_threadsafe(served.server.stop)
        slow.wait_until(lambda writer: writer.withdrawn == ["a"])
        assert running.exception() is not None or running.result().status >= 500


def test_only_a_second_interrupt_gives_running_work_up_at_once(slow: Slow) -> None:
    with serving(slow) as served, ThreadPoolExecutor(2) as pool:
        running = pool.submit(served.send, "POST", "/v1/headlines", b'{"text": "a"}', JSON)
        slow.wait_until(lambda writer: len(writer.batches) == 1)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop_of(served).call_soon_threadsafe(served.server.stop, number)
        until(lambda: served.get("/ready")[0] == 503)
        assert slow.withdrawn == []
        loop_of(served).call_soon_threadsafe(served.server.stop, signal.SIGINT)
        slow.open()
        assert running.exception() is not None or running.result().status > 0


def loop_of(served: Served) -> Any:
    return served.server.servers[0].get_loop()


def test_threads_end_with_the_service(writer: Writer) -> None:
    before = set(threading.enumerate())
    with serving(writer) as served:
        served.post({"text": ARTICLE, "length": 9})
    assert not [each for each in set(threading.enumerate()) - before if each.name == "copyfit-batcher"]
