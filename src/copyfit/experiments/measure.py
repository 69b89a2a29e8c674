"""Try a model on the cells of a test."""

from collections import Counter
from collections.abc import Sequence
from itertools import islice

from copyfit.data.corpus import Pair
from copyfit.errors import DataError
from copyfit.evaluation.evaluate import Evaluation, Settings, Writes, evaluate
from copyfit.evaluation.lengths import budgets_of, plain_lengths
from copyfit.evaluation.rouge import Rouge, RougeResult
from copyfit.experiments.matrix import Band, CellSection, TestSection
from copyfit.experiments.records import CellRecord
from copyfit.text.units import count
from copyfit.writing.overlap import Rerank
from copyfit.writing.writer import Effort


def pairs_of(test: TestSection, cell: CellSection, pairs: Sequence[Pair]) -> list[Pair]:
    """Choose the pairs of a cell, and the references of each."""
    chosen = (
        Pair(pair.source, references)
        for pair in pairs
        if (references := _within(pair.targets, cell.references, test.unit))
        and _within(references[:1], cell.pairs, test.unit)
    )
    found = list(islice(chosen, test.first))
    if not found:
        raise DataError(f"test {test.name} must have pairs for its cell {cell.name}, its bands leave none")
    return found


def _within(texts: tuple[str, ...], band: Band | None, unit: str) -> tuple[str, ...]:
    if band is None:
        return texts
    least, most = band
    return tuple(text for text in texts if least <= count(text, unit) <= most)


def measure(
    writer: Writes,
    pairs: Sequence[Pair],
    test: TestSection,
    cell: CellSection,
    *,
    rerank: Rerank | None = None,
) -> CellRecord:
    """Write for the pairs of a cell, and score it: as it is and, where the test says so, cut."""
    effort = Effort(num_beams=test.num_beams, batch_size=test.batch_size, rerank=rerank)
    scorers = scorers_of(test, cell)
    settings = Settings(effort, scorers["whole"])
    found = evaluate(writer, pairs, length=cell.length, unit=test.unit, mode=test.mode, settings=settings)
    references = [pair.targets for pair in pairs]
    scores = {name: scorer.score(found.headlines, references) for name, scorer in scorers.items()}
    return CellRecord(
        n=len(pairs),
        length=cell.length,
        rouge={name: _averages(score) for name, score in scores.items()},
        signatures={
            name: found.signature.replace(found.rouge.signature, score.signature)
            for name, score in scores.items()
        },
        length_error=plain_lengths(found.length_error, found.length_limits),
        differences=_differences(found, references),
        headlines_per_second=round(found.headlines_per_second, 2),
    )


def scorers_of(test: TestSection, cell: CellSection) -> dict[str, Rouge]:
    """Return what scores the outputs of a cell: whole, and cut where the test says so."""
    stem, at = test.words == "ascii", test.cut_of(cell)
    scorers = {"whole": Rouge(stem=stem, words=test.words)}
    if test.cut == "bytes":
        scorers["cut"] = Rouge(stem=stem, words=test.words, limit_bytes=at)
    elif test.cut == "characters":
        scorers["cut"] = Rouge(stem=stem, words=test.words, limit_characters=at)
    return scorers


def _averages(score: RougeResult) -> dict[str, dict[str, float]]:
    return {metric: average._asdict() for metric, average in score.averages.items()}


def _differences(found: Evaluation, references: Sequence[tuple[str, ...]]) -> dict[int, int]:
    wanted = budgets_of(found.length, [texts[0] for texts in references], found.unit)
    over = Counter(
        count(text, found.unit) - budget for text, budget in zip(found.headlines, wanted, strict=True)
    )
    return dict(sorted(over.items()))
