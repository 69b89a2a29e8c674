"""The page with its model beside it: a folder of files for any server; no text leaves its reader."""

import json
import shutil
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copyfit.checkpoint import Checkpoint, load_graphs, open_checkpoint, read_config
from copyfit.errors import CheckpointError, ConfigError
from copyfit.folders import complete_or_absent, is_free
from copyfit.generation.jobs import Job, SearchOptions
from copyfit.generation.layout import lay_out
from copyfit.text.budgets import UNREACHABLE
from copyfit.text.graphemes import graphemes
from copyfit.text.presets import PRESETS
from copyfit.text.scripts import UNSPACED
from copyfit.text.units import UNITS, septets, weigh
from copyfit.writing.measure import Measure

PAGE = Path(__file__).with_name("page")
RUNTIME = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
"""What the page takes from the folder `dist` of the npm package onnxruntime-web."""
LONGEST = 300
UNIT = "char"
_ADDED_UP = [unit for unit in UNITS if unit not in {"word", "gsm7"}]
_CASES = sys.maxunicode + 1


def write_site(model: Path, runtime: Path, output: Path) -> None:
    """Write the page, an exported model and the runtime into a new folder."""
    missing = [name for name in RUNTIME if not (runtime / name).is_file()]
    if missing:
        raise ConfigError(
            f"{runtime} must be the folder dist of the npm package onnxruntime-web, it has no {missing[0]}"
        )
    if not is_free(output):
        raise ConfigError(f"{output} must be a new or an empty folder, it is not; name another")
    if not read_config(model).is_exported:
        raise CheckpointError(f"{model} must be an exported model: copyfit export {model} --output DIR")
    tables = tables_of(open_checkpoint(model))
    graphs = load_graphs(model)
    with complete_or_absent(output) as folder:
        shutil.copytree(PAGE, folder / "page")
        (folder / "page" / "index.html").rename(folder / "index.html")
        (folder / "page" / "docs.css").unlink()
        _mark_offline(folder / "index.html")
        (folder / "runtime").mkdir()
        for name in RUNTIME:
            shutil.copyfile(runtime / name, folder / "runtime" / name)
        (folder / "model").mkdir()
        for name, content in graphs.items():
            (folder / "model" / name).write_bytes(content)
        (folder / "model" / "tables.json").write_text(json.dumps(tables), encoding="utf-8")


def _mark_offline(index: Path) -> None:
    policy = (
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self';"
        " connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"
    )
    page = index.read_text(encoding="utf-8")
    page = page.replace('<html lang="en">', '<html lang="en" data-offline>')
    tag = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    index.write_text(
        page.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{tag}'), encoding="utf-8"
    )


def tables_of(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return all that the page must know of a model beside its graphs, as plain values."""
    source = json.loads(checkpoint.source.to_json())["model"]
    if checkpoint.unit != UNIT or source["type"] != "BPE":
        raise CheckpointError(
            f"the page writes with models of unit {UNIT} whose sources are cut by bpe,"
            f" this one has {checkpoint.unit} and {source['type'].lower()}; serve it by copyfit serve"
        )
    target = checkpoint.target
    return {
        "name": checkpoint.name,
        "longest": LONGEST,
        "longestSource": checkpoint.longest_source,
        "source": {"vocab": source["vocab"], "merges": source["merges"], "ending": checkpoint.source.ending},
        "pieces": target.pieces,
        "prefixed": target.prefixed,
        "costs": {
            unit: [sum(weigh(cluster, unit) for cluster in graphemes(piece)) for piece in target.pieces]
            for unit in _ADDED_UP
        },
        "septets": [septets(piece) for piece in target.pieces],
        "units": UNITS,
        "words": list(checkpoint.words),
        "unspaced": UNSPACED,
        "folds": {
            chr(code): chr(code).casefold()
            for code in range(_CASES)
            if chr(code).casefold() != chr(code).lower()
        },
        "presets": [
            preset._asdict()
            for preset in PRESETS
            if preset.unit == UNIT and preset.mode in {"exact", "max"} and preset.limit <= LONGEST
        ],
        "layout": _layout(checkpoint),
    }


def _layout(checkpoint: Checkpoint) -> dict[str, Any]:
    """Lay out the rules of the longest texts, of which those of shorter ones are a part."""
    measure = Measure(checkpoint.target, UNIT, checkpoint.unit, ucs2=False)
    tight, loose = (
        lay_out([Job((), float(LONGEST), floor, LONGEST, 1)], measure.counting, SearchOptions())
        for floor in (LONGEST, 1)
    )
    return {
        "states": tight.cost.shape[0],
        "classes": tight.cost.shape[1],
        "start": int(tight.start[0]),
        "tokens": checkpoint.target.size,
        "cost": _encoded(tight.cost),
        "nextState": _encoded(tight.next_state),
        "bonus": _encoded(tight.bonus),
        "classOf": _encoded(tight.classes[0]),
        "trainedCost": _encoded(tight.trained_cost),
        "textHash": _encoded(tight.text_hash),
        "tight": _encoded(tight.steps[:, : LONGEST + 1]),
        "loose": _encoded(loose.steps[:, : LONGEST + 1]),
        "unreachable": UNREACHABLE,
        "maxSteps": [0, *(measure.longest_steps(limit) for limit in range(1, LONGEST + 1))],
    }


def _encoded(array: NDArray[Any]) -> str:
    """Write the numbers of an array as browsers read them: the least byte first."""
    return b64encode(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()).decode()
