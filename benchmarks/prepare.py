"""How fast a million pairs are prepared, and in how much memory; words are as frequent as in English news."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import perf_counter

import numpy as np

from copyfit.data.prepare import DataSection, prepare_with, train_tokenizers
from copyfit.environment import cores
from copyfit.text.tokenizer import SourceSection
from copyfit.text.vocabulary import TargetSection

PAIRS = 1_000_000
VOCABULARY = 200_000
SOURCE_WORDS, OWN_WORDS, SHARED_WORDS = 64, 5, 5
"""A source of about 400 characters; a target of about 60, half of its words the source's."""
CHUNK = 20_000
SYLLABLES = [
    onset + vowel + coda
    for onset in ("", *"bdfghklmnprstvw", "ch", "st", "th")
    for vowel in ("a", "e", "i", "o", "u", "ea")
    for coda in ("", "n", "r", "s", "t")
]


def measure(pairs: int = PAIRS) -> dict[str, float]:
    with TemporaryDirectory() as name, watched_memory() as peak:
        folder = Path(name)
        started = perf_counter()
        write_pairs(folder / "pairs.tsv", pairs)
        invented = perf_counter()
        section = DataSection(train=(str(folder / "pairs.tsv"),))
        source, target = SourceSection.model_validate({}), TargetSection.model_validate({"kind": "subword"})
        tokenizers = train_tokenizers(section, source, target)
        trained = perf_counter()
        before = processor_seconds()
        prepared = prepare_with(section, tokenizers, folder / "prepared")
        finished = perf_counter()
        manifest = prepared.train.manifest
        return {
            "pairs": pairs,
            "kept": manifest.pairs,
            "workers": cores(),
            "load_before": os.getloadavg()[2],
            "source_tokens_a_pair": manifest.source_tokens / manifest.pairs,
            "target_tokens_a_pair": manifest.target_tokens / manifest.pairs,
            "inventing_seconds": invented - started,
            "tokenizer_training_seconds": trained - invented,
            "pairs_per_second": pairs / (finished - trained),
            "pairs_per_processor_second": pairs / (processor_seconds() - before),
            "peak_memory_mib": peak[0] / 1024,
        }


def processor_seconds() -> float:
    """Return what this process and its ended children have computed: other programs disturb it less."""
    return sum(os.times()[:4])


@contextmanager
def watched_memory(pause: float = 0.5) -> Iterator[list[int]]:
    """Look again and again at the memory of this process and its workers; keep the greatest sum."""
    greatest = [0]
    ended = Event()

    def watch() -> None:
        while not ended.wait(pause):
            greatest[0] = max(greatest[0], resident_memory())

    watcher = Thread(target=watch)
    watcher.start()
    try:
        yield greatest
    finally:
        ended.set()
        watcher.join()


def resident_memory() -> int:
    """Sum the resident memory of this process and its children in KiB; shared pages count for each."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):
            fields = dict(line.split(":", 1) for line in path.read_text().splitlines() if ":" in line)
            if os.getpid() in (int(fields["Pid"]), int(fields["PPid"])):
                total += int(fields.get("VmRSS", "0 kB").split()[0])
    return total


def write_pairs(path: Path, pairs: int) -> None:
    draw = np.random.default_rng(1)
    words = invented_words(draw)
    weights = (np.arange(len(words)) + 2.7) ** -1.07
    edges = np.cumsum(weights / weights.sum())[:-1]
    with path.open("w", encoding="utf-8") as stream:
        for start in range(0, pairs, CHUNK):
            shape = min(CHUNK, pairs - start), SOURCE_WORDS + OWN_WORDS
            for row in np.searchsorted(edges, draw.random(shape)).tolist():
                text = [words[word] for word in row]
                target = " ".join(text[SOURCE_WORDS - SHARED_WORDS :])
                stream.write(f"{sentence(text[:SOURCE_WORDS])}\t{target}\n")


def invented_words(draw: np.random.Generator) -> list[str]:
    """Invent different words, the more frequent the shorter."""
    spellings = draw.integers(len(SYLLABLES), size=(2 * VOCABULARY, 3)).tolist()
    invented = (
        "".join(SYLLABLES[part] for part in parts[: 1 + (rank > 200) + (rank > 10_000)])
        for rank, parts in enumerate(spellings)
    )
    return list(dict.fromkeys(invented))[:VOCABULARY]


def sentence(words: list[str]) -> str:
    """Set a comma or a full stop behind about every eighth word."""
    marked = [f"{word}{',.'[len(word) % 2]}" if place % 8 == 7 else word for place, word in enumerate(words)]
    return " ".join(marked).capitalize().rstrip(",.") + "."
