"""How fast headlines of 75 characters are written, beside CTranslate2 and transformers with the same weights.

Weights are drawn, not learned: the time of a step does not depend on them, and the number of steps is stated.
"""

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple, cast

import numpy as np
import torch

from benchmarks.peers import ctranslate, hugging_face
from benchmarks.peers.ctranslate import SPECIAL
from copyfit.checkpoint import GRAPHS
from copyfit.environment import cores
from copyfit.generation.jobs import Counting, Job, SearchOptions
from copyfit.models.build import build_model
from copyfit.models.config import TransformerSection
from copyfit.models.transformer import Transformer
from copyfit.runtime.export import trace
from copyfit.runtime.exporting import store
from copyfit.runtime.onnx_engine import OnnxEngine, engine_of
from copyfit.text.automaton import END, FIRST_PIECE, START
from copyfit.text.vocabulary import TargetVocabulary

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from support_steps import Walk

LENGTH, SOURCE_LENGTH, NUM_BEAMS = 75, 100, 5
SOURCES, CHARACTERS, SUBWORDS = 16_000, 512, 8_000
ROUNDS = {1: 7, 32: 3}
"""How often each batch size is measured; every engine has its turn in every round."""
PEER = "CTranslate2, 6+6 characters, int8"
"""The one to beat, with as many threads as suit it best."""
PAPER = TransformerSection.model_validate({"positions": "lrpe+pe"})
SMALL_DECODER = TransformerSection.model_validate({"encoder_layers": 8, "decoder_layers": 2})


class Ours(NamedTuple):
    """Hold a model in our engine, and how it counts."""

    model: Transformer
    engine: OnnxEngine
    counting: Counting


def measure() -> dict[str, Any]:
    """Measure all engines for every batch size."""
    torch.manual_seed(1)
    torch.set_num_threads(cores())
    paper = _ours(PAPER, characters())
    small = _ours(SMALL_DECODER, subwords())
    peer = hugging_face.convert(paper.model, length=LENGTH)
    with TemporaryDirectory() as name:
        folder = Path(name) / "ctranslate2"
        ctranslate.convert(paper.model, folder, length=LENGTH)
        exact = ctranslate.open_translator(folder, cores(), "float32")
        # Its threads may cost more than they bring, so it has its choice.
        quick = {
            f"{PEER}, {threads} threads": ctranslate.open_translator(folder, threads, "int8")
            for threads in range(1, cores() + 1)
        }
        figures: dict[str, Any] = {"agreement": _agreement(paper, exact, peer)}
        for rows, rounds in ROUNDS.items():
            batch = sources(rows)
            work = {
                "copyfit, 8+2 subwords, int8": partial(_write, small, batch),
                "copyfit, 6+6 characters, int8": partial(_write, paper, batch),
                **{name: partial(_translate, translator, batch) for name, translator in quick.items()},
                "CTranslate2, 6+6 characters, float32": partial(_translate, exact, batch),
                "transformers, 6+6 characters, float32": partial(_generate, peer, batch),
            }
            figures[f"batch of {rows}"] = _compare(work, rows, rounds)
    return figures


def characters() -> TargetVocabulary:
    """Return a vocabulary of single characters."""
    return TargetVocabulary([" ", *(chr(0x4E00 + number) for number in range(CHARACTERS - FIRST_PIECE - 1))])


def subwords() -> TargetVocabulary:
    """Return a vocabulary of pieces of one to five letters."""
    draw, letters = Random(1), "abcdefghijklmnopqrstuvwxyz"
    pieces = dict.fromkeys([*letters, *(f" {letter}" for letter in letters)])
    while len(pieces) < SUBWORDS - FIRST_PIECE:
        piece = "".join(draw.choices(letters, k=draw.choice((2, 3, 3, 4, 4, 5))))
        pieces[draw.choice(("", " ")) + piece] = None
    return TargetVocabulary(list(pieces), [])


def sources(rows: int) -> list[list[int]]:
    """Draw sources of one length."""
    draw = Random(1)
    return [[draw.randrange(len(SPECIAL), SOURCES) for _ in range(SOURCE_LENGTH)] for _ in range(rows)]


def _ours(section: TransformerSection, target: TargetVocabulary) -> Ours:
    model = build_model(section, source_size=SOURCES, target_size=target.size).eval().requires_grad_(False)
    nothing = np.zeros(target.size, dtype=np.float32)
    counting = Counting(target.automaton("char"), nothing, target.pieces, target.rolling_hash())
    graphs = trace(model, _jobs(sources(2)), counting)
    contents = {name: store(graph, "int8") for name, graph in zip(GRAPHS, graphs, strict=True)}
    return Ours(cast(Transformer, model), engine_of(contents, where=Path("benchmark")), counting)


def _jobs(batch: Sequence[Sequence[int]]) -> list[Job]:
    return [Job(tuple(source), float(LENGTH), LENGTH, LENGTH, LENGTH) for source in batch]


def _write(ours: Ours, batch: Sequence[Sequence[int]]) -> int:
    options = SearchOptions(num_beams=NUM_BEAMS, batch_size=len(batch))
    found = ours.engine.search(_jobs(batch), ours.counting, options)
    return len(found[0][0].tokens)


def _translate(translator: Any, batch: Sequence[Sequence[int]]) -> int:
    return len(ctranslate.write(translator, batch, length=LENGTH, num_beams=NUM_BEAMS)[0])


def _generate(peer: Any, batch: Sequence[Sequence[int]]) -> int:
    return hugging_face.write(peer, torch.tensor(batch), length=LENGTH, num_beams=NUM_BEAMS).shape[1] - 1


def _agreement(ours: Ours, translator: Any, peer: Any) -> dict[str, float]:
    """Return how far the log-probabilities of a text are from ours: all must run one and the same model."""
    (source,), draw = sources(1), Random(2)
    text = [draw.randrange(len(SPECIAL), CHARACTERS) for _ in range(LENGTH)]
    walk = Walk(ours.model, [source], [LENGTH], dtype=torch.float32)
    told = enumerate([START, *text])
    answers = torch.stack([walk.step([[token]], place)[0, 0] for place, token in told]).log_softmax(-1)
    mine = answers.gather(1, torch.tensor([*text, END])[:, None])[:, 0]
    theirs = torch.tensor(ctranslate.scores(translator, source, text))
    other = hugging_face.logits(peer, source, [START, *text]).log_softmax(-1)
    return {
        "CTranslate2 float32": float((theirs - mine).abs().max()),
        "transformers": float((other - answers).abs().max()),
    }


def _compare(work: Mapping[str, Callable[[], int]], rows: int, rounds: int) -> dict[str, Any]:
    """Let every engine have its turn in every round; return milliseconds a headline, and ratios."""
    for one in work.values():
        one()
    times: dict[str, list[float]] = {name: [] for name in work}
    steps = {}
    for _ in range(rounds):
        for name, one in work.items():
            started = perf_counter()
            steps[name] = one()
            times[name].append((perf_counter() - started) / rows * 1000)
    best = {name: min(each) for name, each in times.items()}
    peer = min(milliseconds for name, milliseconds in best.items() if name.startswith(PEER))
    return {
        name: {
            "milliseconds": best[name],
            "median": statistics.median(times[name]),
            "slowest": max(times[name]),
            "steps": steps[name],
            "as fast as CTranslate2 int8": peer / best[name],
        }
        for name in work
    }
