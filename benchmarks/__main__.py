"""Run the benchmarks that need no GPU and print their figures; `--record` also keeps them.

python -m benchmarks [prepare] [rouge] [--record]
"""

import argparse
import json

from benchmarks import prepare, rouge
from benchmarks.records import write_record

BENCHMARKS = {"rouge": rouge.measure, "prepare": prepare.measure}

parser = argparse.ArgumentParser(prog="python -m benchmarks")
parser.add_argument("names", nargs="*", choices=BENCHMARKS, default=list(BENCHMARKS))
parser.add_argument("--record", action="store_true")
arguments = parser.parse_args()
for name in arguments.names:
    figures = BENCHMARKS[name]()
    print(json.dumps({"name": name, **figures}))
    if arguments.record:
        print(write_record(name, figures))
