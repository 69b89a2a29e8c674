"""What figures show: points against the length, and histograms of differences, from records."""

from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import mean
from typing import NamedTuple

from copyfit.experiments.matrix import CellSection, FigureSection
from copyfit.experiments.records import CellRecord
from copyfit.experiments.results import Results, differences


class Point(NamedTuple):
    """Be a measure at a length, the mean over seeds, with its confidence limits."""

    length: int
    value: float
    low: float
    high: float


class Histogram(NamedTuple):
    """Be how far a system's outputs were from what was wanted."""

    system: str
    counts: Counter[int]

    @property
    def variance(self) -> float:
        """Return the mean square."""
        return sum(count * over**2 for over, count in self.counts.items()) / self.counts.total()

    @property
    def exact(self) -> float:
        """Return the share of outputs that were as long as wanted."""
        return self.counts[0] / self.counts.total()

    def shares(self, limit: int, width: int) -> tuple[list[int], list[float]]:
        """Return the middles of bins around zero and the share in each; what lies outside is in the last."""
        most = limit // width
        bins = Counter[int]()
        for over, count in self.counts.items():
            bins[max(-most, min(most, round(over / width)))] += count
        places = list(range(-most, most + 1))
        return [place * width for place in places], [bins[place] / self.counts.total() for place in places]


def histograms(figure: FigureSection, results: Results) -> list[Histogram]:
    """Return a histogram for each system of a figure that was tried on its test."""
    systems = dict.fromkeys(system for panel in figure.panels for system in panel.systems)
    cells = [cell.name for cell in results.matrix.test(figure.test).cells]
    found = (
        Histogram(
            system,
            differences(result for cell in cells for result in results.of(system, figure.test, cell)),
        )
        for system in systems
    )
    return [histogram for histogram in found if histogram.counts]


def curve(system: str, figure: FigureSection, results: Results) -> list[Point]:
    """Return a system's measure at each length that it was tried on."""
    points = []
    for cell in results.matrix.test(figure.test).cells:
        found = [result.cell for result in results.of(system, figure.test, cell.name)]
        if found and isinstance(cell.length, int):
            points.append(_point(cell, figure.kind, found))
    return sorted(points)


def _point(cell: CellSection, kind: str, found: Iterable[CellRecord]) -> Point:
    assert isinstance(cell.length, int)
    limits = list(zip(*(_limits(each, kind) for each in found), strict=True))
    return Point(cell.length, *(mean(values) for values in limits))


def _limits(cell: CellRecord, kind: str) -> tuple[float, float, float]:
    if kind == "variance":
        return _three(cell.length_error, "variance", 1)
    return _three(cell.rouge["whole"]["R1"], "f1", 100)


def _three(values: Mapping[str, float], name: str, times: int) -> tuple[float, float, float]:
    return times * values[name], times * values[f"{name}_low"], times * values[f"{name}_high"]
