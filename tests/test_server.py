"""The service over HTTP: what it answers, what it refuses, and how."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from copyfit.server.logs import JsonFormatter
from copyfit.server.question import LONGEST_TEXT, MOST_LENGTHS, MOST_TEXTS
from copyfit.text.presets import PRESETS
from copyfit.text.units import UNITS, count
from copyfit.writing.answers import answer
from copyfit.writing.requests import Wish
from copyfit.writing.writer import Effort, Order, Writer
from support_serving import JSON, KEYS, PATIENCE, Served, Slow, serving
from support_writing import ARTICLE, TEXTS, save_tiny


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


def expected(writer: Writer, text: str, wish: Wish, effort: Effort, *, index: int = 0) -> dict[str, Any]:
    (result,) = writer.fulfil([Order(text, wish)], effort)
    values = answer(index, wish, result, model="tiny")
    for line in values["headlines"]:
        # Sums of the same numbers in another batch may differ in their last places.
        line["score"] = pytest.approx(line["score"], abs=1e-3)
        line["counts"] = {unit: count(line["text"], unit) for unit in UNITS}
    return values


def test_the_answer_has_what_the_writer_writes_by_text_and_by_length(served: Served, writer: Writer) -> None:
    asked = {
        "texts": list(TEXTS),
        "lengths": [30, 12],
        "unit": "char",
        "mode": "exact",
        "preset": None,
        "candidates": 3,
        "num_beams": 5,
        "require": [],
        "start": None,
    }
    status, told = served.post(asked)
    assert status == 200
    wishes = [Wish(length, unit="char", mode="exact") for length in (30, 12)]
    effort = Effort(count=3)
    assert told["results"] == [
        expected(writer, text, wish, effort, index=index)
        for index, text in enumerate(TEXTS)
        for wish in wishes
    ]
    assert told["model"] == "tiny"
    assert told["usage"].pop("milliseconds") >= 0
    written = sum(len(values["headlines"]) for values in told["results"])
    assert told["usage"] == {"texts": len(TEXTS), "headlines": written}


@pytest.mark.parametrize(
    ("asked", "wish"),
    [
        ({"length": 9}, Wish(9)),
        ({}, Wish()),
        ({"mode": "free"}, Wish(mode="free")),
        ({"length": 9, "mode": "max", "unit": "byte"}, Wish(9, unit="byte", mode="max")),
        ({"min": 5, "length": 9}, Wish(9, 5)),
        ({"min": 5, "mode": "range"}, Wish(None, 5, mode="range")),
        ({"length": 9.0, "num_beams": 5.0}, Wish(9)),
        ({"preset": "subtitle-line"}, Wish(preset="subtitle-line")),
        ({"preset": "subtitle-line", "mode": "exact"}, Wish(preset="subtitle-line", mode="exact")),
    ],
    ids=str,
)
def test_a_length_is_asked_for_in_every_way(
    served: Served, writer: Writer, asked: dict[str, Any], wish: Wish
) -> None:
    status, told = served.post({"text": ARTICLE, **asked})
    assert status == 200
    assert told["results"] == [expected(writer, ARTICLE, wish, Effort())]


def test_a_stream_brings_every_headline_every_result_and_the_end(served: Served) -> None:
    asked = {"texts": [ARTICLE, ""], "lengths": [9, 12], "candidates": 2}
    _, told = served.post(asked)
    body = json.dumps({**asked, "stream": True}).encode()
    response = served.send("POST", "/v1/headlines", body, JSON)
    assert response.headers["Content-Type"].startswith("text/event-stream")
    events = [event for event in response.read().decode().split("\n\n") if event.startswith("event:")]
    pairs = [(event.split("\n")[0][7:], json.loads(event.split("\n")[1][6:])) for event in events]
    results = [values for name, values in pairs if name == "result"]
    assert sorted(results, key=lambda values: (values["index"], values["budget"])) == told["results"]
    lines = [values["headline"] for name, values in pairs if name == "headline"]
    assert lines == [line for values in results for line in values["headlines"]]
    name, end = pairs[-1]
    end["usage"]["milliseconds"] = told["usage"]["milliseconds"]
    assert (name, end) == ("done", {"model": "tiny", "usage": told["usage"]})


def test_a_stream_sends_what_is_ready_before_the_rest_is(slow: Slow) -> None:
    with serving(slow, batch_size=1) as served:
        body = json.dumps({"text": "a", "lengths": [3, 5], "stream": True}).encode()
        response = served.send("POST", "/v1/headlines", body, JSON)
        slow.permit()
        first = b""
        while b"event: result" not in first:
            first += response.read1()
        assert b"xxx" in first
        assert b"xxxxx" not in first
        slow.open()
        assert b"xxxxx" in response.read()


@pytest.mark.parametrize(
    "bad",
    [
        {"texts": ["", ARTICLE], "length": 9},
        {"texts": [" \n\u200b"[:2], ARTICLE], "length": 9},
        {"texts": ["x" * (LONGEST_TEXT + 1), ARTICLE], "length": 9},
    ],
    ids=["empty", "blank", "too long"],
)
def test_one_bad_text_fails_alone_with_its_index(served: Served, bad: dict[str, Any]) -> None:
    status, told = served.post(bad)
    assert status == 200
    failed, good = told["results"]
    assert failed["index"] == 0
    assert failed["error"].startswith("the text must")
    assert failed["headlines"] == []
    assert (good["index"], good["error"], good["headlines"][0]["length"]) == (1, None, 9)


def test_a_length_below_the_minimum_and_wishes_that_no_text_meets_fail_alone(served: Served) -> None:
    _, told = served.post({"text": ARTICLE, "min": 9, "lengths": [5, 12]})
    assert [values["error"] is None for values in told["results"]] == [False, True]
    for wish in ({"require": ["Zyzzyva-Ω"]}, {"start": "Ωmega"}, {"require": [" "]}, {"start": ""}):
        status, told = served.post({"text": ARTICLE, "length": 9, **wish})
        assert status == 200
        assert "no headline meets these wishes" in told["results"][0]["error"]
        assert not any(mark in json.dumps(told, ensure_ascii=False) for mark in ("Zyzzyva", "Ω"))


@pytest.mark.parametrize(
    "text",
    [
        "nul \x00 within",
        "\u202eright to left \u05d0\u05d1\u05d2",
        "family 👩‍👩‍👧 and flag 🏴󠁧󠁢󠁳󠁣󠁴󠁿",
        "w" * 10_000,
        "<script>alert(1)</script>",
        "e\u0301" * 300,
        "\ufeff\ufffe\uffff",
    ],
    ids=["nul", "right to left", "zwj", "long word", "script", "combining", "no characters"],
)
def test_any_text_is_answered(served: Served, text: str) -> None:
    status, told = served.post({"text": text, "length": 20, "require": [text[:20]]})
    assert status == 200
    status, told = served.post({"text": text, "length": 20})
    assert (status, told["results"][0]["error"]) == (200, None)


MALFORMED = (
    b"",
    b"[]",
    b'"text"',
    b"7",
    b"null",
    b"{",
    b"\xff\xfe{}",
    b'{"text": "\\ud800", "length": 9}',
    b'{"text": "\xed\xa0\x80", "length": 9}',
    b"[" * 100_000,
    b'{"text":' * 12_000,
    b'{"text": "a", "length": ' + b"9" * 50_000 + b"}",
)


@pytest.mark.parametrize("body", MALFORMED, ids=lambda body: repr(body[:20]))
def test_a_body_that_is_no_json_object_is_malformed(served: Served, body: bytes) -> None:
    status, told = served.post_bytes(body)
    assert status == 400
    assert told["error"]["type"] == "malformed"
    assert told["error"]["code"] == 400


@pytest.mark.parametrize("field", ["length", "lengths", "min", "candidates", "num_beams"])
@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "1e400", "0", "-1", str(2**63), "9" * 4000, "true", '"7"', "3.5"]
)
def test_numbers_that_cannot_be_are_refused_by_the_name_of_their_field(
    served: Served, field: str, number: str
) -> None:
    value = f"[{number}]" if field == "lengths" else number
    rest = '"length": 9, ' if field in {"candidates", "num_beams"} else ""
    status, told = served.post_bytes(f'{{"text": "a", {rest}"{field}": {value}}}'.encode())
    assert status == 422
    assert told["error"]["field"] == ("lengths.0" if field == "lengths" else field)


SECRET = "Zyzzyva<script>"


@pytest.mark.parametrize(
    ("asked", "status", "field"),
    [
        ({}, 422, "text"),
        ({"text": None, "length": 9}, 422, "text"),
        ({"text": SECRET, "texts": [SECRET]}, 422, "texts"),
        ({"text": SECRET, "length": 9, "lengths": [9]}, 422, "lengths"),
        ({"text": 5}, 422, "text"),
        ({"texts": SECRET}, 422, "texts"),
        ({"texts": [SECRET, 5]}, 422, "texts.1"),
        ({"texts": []}, 422, "texts"),
        ({"texts": [SECRET] * (MOST_TEXTS + 1)}, 422, "texts"),
        ({"text": SECRET, "lengths": [9] * (MOST_LENGTHS + 1)}, 422, "lengths"),
        ({"text": SECRET, "length": 9, "unit": SECRET}, 422, "unit"),
        ({"text": SECRET, "length": 9, "mode": SECRET}, 422, "mode"),
        ({"text": SECRET, "preset": SECRET}, 422, "preset"),
        ({"text": SECRET, "preset": "sms", "length": 9}, 422, "length"),
        ({"text": SECRET, "preset": "sms", "unit": "gsm7"}, 422, "unit"),
        ({"text": SECRET, "length": 9, "min": 5, "mode": "max"}, 422, "min"),
        ({"text": SECRET, "length": 9, "mode": "range"}, 422, "min"),
        ({"text": SECRET, "mode": "exact"}, 422, "mode"),
        ({"text": SECRET, "unit": "byte"}, 422, "unit"),
        ({"text": SECRET, "length": 9, "require": [SECRET * 9]}, 422, "require.0"),
        ({"text": SECRET, "length": 9, "require": [SECRET] * 21}, 422, "require"),
        ({"text": SECRET, "length": 9, "start": SECRET * 9}, 422, "start"),
        ({"text": SECRET, "length": 9, SECRET: 1}, 422, None),
        ({"text": SECRET, "length": 9, "stream": SECRET}, 422, "stream"),
        ({"text": SECRET * 10_000, "length": 9}, 413, None),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_refusal_names_the_field_and_never_repeats_what_was_sent(
    served: Served, asked: dict[str, Any], status: int, field: str | None
) -> None:
    found, told = served.post(asked)
    assert (found, told["error"]["field"]) == (status, field)
    assert set(told["error"]) == {"message", "type", "code", "field"}
    assert "Zyzzyva" not in json.dumps(told)


def test_a_body_far_too_large_is_refused_before_it_is_read_to_its_end(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as connection:
        head = "POST /v1/headlines HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: {1 << 40}\r\n\r\n".encode())
        connection.sendall(b"x" * 801_000)
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


def test_a_body_that_pages_of_other_sites_can_send_is_refused(served: Served) -> None:
    body = json.dumps({"text": ARTICLE, "length": 9}).encode()
    for headers, status in (
        ({}, 400),
        ({"Content-Type": ""}, 400),
        ({"Content-Type": "text/plain"}, 400),
        ({"Content-Type": "application/json; charset=utf-8"}, 200),
    ):
        assert served.send("POST", "/v1/headlines", body, headers).status == status


@pytest.mark.parametrize(
    ("method", "path", "refusal"),
    [
        ("GET", "/nothing/Zyzzyva", (404, "not_found")),
        ("GET", "/v1/headlines", (405, "method_not_allowed")),
        ("DELETE", "/v1/models", (405, "method_not_allowed")),
        ("GET", "/page/../settings.py", (404, "not_found")),
        ("GET", "/page/%2e%2e/settings.py", (404, "not_found")),
        ("TRACE", "/health", (405, "method_not_allowed")),
    ],
)
def test_what_is_not_served_is_refused_in_the_same_form(
    served: Served, method: str, path: str, refusal: tuple[int, str]
) -> None:
    response = served.send(method, path)
    error = json.loads(response.read())["error"]
    assert (response.status, error["type"]) == (error["code"], error["type"]) == refusal
    assert "Zyzzyva" not in error["message"]
    assert (response.headers["Allow"] is not None) == (refusal[0] == 405)


def test_models_presets_and_the_state_are_told(served: Served) -> None:
    assert served.get("/v1/models") == (
        200,
        {"models": [{"name": "tiny", "unit": "char", "natural_length": 24}]},
    )
    status, told = served.get("/v1/presets")
    assert status == 200
    assert told["presets"] == [preset._asdict() for preset in PRESETS]
    assert served.get("/health") == (200, {"status": "alive"})
    assert served.get("/ready") == (200, {"status": "ready"})


def test_the_document_and_the_pages_name_no_other_host(served: Served) -> None:
    assert served.get("/openapi.json")[1]["paths"].keys() >= {"/v1/headlines", "/metrics", "/ready"}
    for path in ("/docs", "/"):
        response = served.send("GET", path)
        text = response.read().decode()
        assert response.status == 200
        assert response.headers["Content-Type"].startswith("text/html")
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]
        assert "//" not in text.replace("<!-- ", "")


def test_files_of_the_page_are_asked_for_again_only_when_they_changed(served: Served) -> None:
    first = served.send("GET", "/page/app.js")
    assert first.headers["Cache-Control"] == "no-cache"
    assert first.headers["Content-Type"].startswith(("text/javascript", "application/javascript"))
    assert b"http:" not in first.read()
    again = served.send("GET", "/page/app.js", None, {"If-None-Match": first.headers["ETag"]})
    assert again.status == 304


def test_a_bug_is_answered_and_told_without_what_it_says(
    writer: Writer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(writer) as served:
        monkeypatch.setattr(served.service.metrics, "page", lambda: 1 // 0)
        response = served.send("GET", "/metrics")
        assert (response.status, json.loads(response.read())["error"]["code"]) == (500, 500)
    (record,) = [record for record in caplog.records if record.getMessage() == "request failed"]
    told = json.loads(JsonFormatter().format(record))
    assert (told["exception"], told["route"]) == ("ZeroDivisionError", "/metrics")
    assert "by zero" not in json.dumps(told)


def test_numbers_count_what_happened(writer: Writer) -> None:
    with serving(writer) as served:
        served.post({"texts": [ARTICLE, ""], "lengths": [9, 12]})
        served.get("/nothing")
        numbers = served.numbers()
    assert numbers['copyfit_headlines_total{outcome="fits"}'] == 2
    assert numbers['copyfit_headlines_total{outcome="failed"}'] == 2
    assert numbers['copyfit_requests_total{route="/v1/headlines",status="200"}'] == 1
    assert numbers['copyfit_requests_total{route="other",status="404"}'] == 1
    assert numbers["copyfit_batch_headlines_sum"] == numbers["copyfit_queue_seconds_count"] == 2
    assert numbers["copyfit_queue_headlines"] == 0


def test_keys_are_needed_where_there_are_some(writer: Writer) -> None:
    with serving(writer, keys=KEYS) as served:
        for header in (
            None,
            "",
            KEYS[0],
            "Bearer",
            f"Bearer {KEYS[0][:-1]}",
            f"Bearer {KEYS[0]}x",
            f"Basic {KEYS[0]}",
            "Bearer \xff\xfe",
        ):
            headers = {} if header is None else {"Authorization": header}
            status, told = served.post({"text": ARTICLE, "length": 9}, headers)
            assert (status, told["error"]["type"]) == (401, "unauthorized")
            assert served.get("/v1/presets", headers)[0] == served.get("/v1/models", headers)[0] == 401
        for key in KEYS:
            headers = {"Authorization": f"bearer  {key}"}
            assert served.post({"text": ARTICLE, "length": 9}, headers)[0] == 200
        assert served.get("/ready")[0] == 200
        assert "HTTPBearer" in json.dumps(served.get("/openapi.json")[1])


def test_keys_are_read_from_a_file(tmp_path: Path) -> None:
    from copyfit.errors import ConfigError
    from copyfit.server.settings import Settings, read_keys

    path = tmp_path / "keys"
    path.write_text(f"# ours\n{KEYS[0]}\n\n  # theirs\n  {KEYS[1]}\n")
    assert read_keys(path) == KEYS
    for content, message in ((b"", "at least one key"), (b"short\n", "key 1 of"), (b"\xff", "readable")):
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=message):
            read_keys(path)
    with pytest.raises(ConfigError, match="queue must be above 0, given 0"):
        Settings(queue=0)
