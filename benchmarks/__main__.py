"""Run the benchmarks that need no GPU and print their figures; `--record` also keeps them.

python -m benchmarks [rouge] [prepare] [unseen-lengths] [decoding]
                     [serving] [serving-memory] [fuzz] [--record]
decoding needs pip install -e '.[bench]'.
"""

import argparse
import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks.records import write_record

BENCHMARKS = ("rouge", "prepare", "unseen-lengths", "decoding", "serving", "serving-memory", "fuzz")


def measure_of(name: str) -> Callable[[], dict[str, Any]]:
    """Find what measures a benchmark; only then is imported what it needs."""
    measure: Callable[[], dict[str, Any]] = import_module(f"benchmarks.{name.replace('-', '_')}").measure
    return measure


def main() -> None:
    """Run what is named, or everything."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(BENCHMARKS)}; all when none")
    parser.add_argument("--record", action="store_true", help="keep the figures in benchmarks/records")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(BENCHMARKS):
        parser.error(f"no benchmark is named {', '.join(sorted(unknown))}")
    for name in arguments.names or BENCHMARKS:
        figures = measure_of(name)()
        print(json.dumps({"name": name, **figures}))
        if arguments.record:
            print(write_record(name, figures))


if __name__ == "__main__":
    main()
