"""How many times as fast as the original script ROUGE is: 600 items of 4 references, best of 3 rounds."""

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from copyfit.evaluation.rouge import Rouge
from copyfit.text.porter import stem

TESTS = Path(__file__).parents[1] / "tests"
ROUNDS = 3


def measure() -> dict[str, float]:
    sys.path.append(str(TESTS))
    import support_rouge as original

    hypotheses, references = original.hard_items(600, references=4, seed=1)
    with TemporaryDirectory() as name:
        folder = original.install(Path(name))
        listing = original.write_texts(folder, hypotheses, references)

        def score_here() -> None:
            stem.cache_clear()
            Rouge(limit_bytes=75).score(hypotheses, references)

        rounds = [
            (
                seconds(lambda: original.run(folder, listing, ["-n", "2", "-m", "-b", "75"])),
                seconds(score_here),
            )
            for _ in range(ROUNDS)
        ]
    script, here = (min(times) for times in zip(*rounds, strict=True))
    return {"script_seconds": script, "copyfit_seconds": here, "ratio": script / here}


def seconds(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started
