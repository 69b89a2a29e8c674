"""Logs a machine can read: a JSON object a line, without any text that was sent or written."""

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import Any

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class JsonFormatter(logging.Formatter):
    """Write a record as JSON; of an exception only kind and places, as its message may quote texts."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        values: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        values |= {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info and record.exc_info[0]:
            values["exception"] = record.exc_info[0].__name__
            values["traceback"] = traceback.format_tb(record.exc_info[2])
        return json.dumps(values, ensure_ascii=False, default=str)


def log_as_json() -> None:
    """Let all logs of this process go to standard error, a JSON object a line."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
