"""Run the benchmarks that need no GPU and print their figures; `--record` also keeps them.

python -m benchmarks [rouge] [prepare] [unseen-lengths] [serving] [serving-memory] [fuzz] [--record]
"""

import argparse
import json

from benchmarks import fuzz, prepare, rouge, serving, unseen_lengths
from benchmarks.records import write_record

BENCHMARKS = {
    "rouge": rouge.measure,
    "prepare": prepare.measure,
    "unseen-lengths": unseen_lengths.measure,
    "serving": serving.measure,
    "serving-memory": serving.measure_memory,
    "fuzz": fuzz.measure,
}


def main() -> None:
    """Run what is named, or everything."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(BENCHMARKS)}; all when none")
    parser.add_argument("--record", action="store_true", help="keep the figures in benchmarks/records")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(BENCHMARKS):
        parser.error(f"no benchmark is named {', '.join(sorted(unknown))}")
    for name in arguments.names or BENCHMARKS:
        figures = BENCHMARKS[name]()
        print(json.dumps({"name": name, **figures}))
        if arguments.record:
            print(write_record(name, figures))


if __name__ == "__main__":
    main()
