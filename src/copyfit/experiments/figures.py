"""Draw the figures of a matrix as SVG and PNG."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from math import ceil
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from copyfit.experiments.curves import Histogram, curve, histograms
from copyfit.experiments.matrix import Band, FigureSection, PanelSection
from copyfit.experiments.results import Results
from copyfit.experiments.styles import style_of

_LOOK: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "copyfit",
    "svg.fonttype": "none",
}
_FORMATS: Mapping[str, Mapping[str, Any]] = {
    "svg": {"metadata": {"Date": None}},
    "png": {"dpi": 150, "metadata": {"Software": None}},
}
_LEAST_VARIANCE = 0.01
"""Below it the axis is linear, so that zero has a place."""
_GREATEST_DIFFERENCE = 40
_BINS = 41


def draw(figure: FigureSection, results: Results) -> dict[str, bytes] | None:
    """Return the files of a figure by their names, none where nothing is recorded for it."""
    with rc_context(_LOOK):
        drawn = _differences(figure, results) if figure.kind == "difference" else _curves(figure, results)
        return None if drawn is None else {f"{figure.name}.{kind}": _file(drawn, kind) for kind in _FORMATS}


def _file(drawn: Figure, kind: str) -> bytes:
    stream = BytesIO()
    drawn.savefig(stream, format=kind, **_FORMATS[kind])
    return stream.getvalue()


def _differences(section: FigureSection, results: Results) -> Figure | None:
    found = histograms(section, results)
    if not found:
        return None
    unit = results.matrix.test(section.test).unit
    figure, axes = _canvas(section.title, len(found), columns=4, height=1.75)
    for axis, histogram in zip(axes, found, strict=True):
        _draw_histogram(axis, histogram, limit=_reach(found))
    what = f"length of the output minus length of the reference ({_units(unit)}; beyond: outermost bars)"
    figure.supxlabel(what, fontsize=9)
    figure.supylabel("share of the outputs (%)", fontsize=9)
    return figure


def _reach(found: Sequence[Histogram]) -> int:
    greatest = max(abs(over) for histogram in found for over in histogram.counts)
    return max(5, min(greatest, _GREATEST_DIFFERENCE))


def _draw_histogram(axis: Axes, histogram: Histogram, *, limit: int) -> None:
    # An odd width has no number in the middle between two bins.
    width = ceil((2 * limit + 1) / _BINS) | 1
    places, shares = histogram.shares(limit, width)
    axis.bar(
        places, [100 * share for share in shares], width=0.9 * width, color=style_of(histogram.system).colour
    )
    axis.set_title(histogram.system.replace(",", ",\n"), fontsize=8.5, pad=14)
    axis.axvline(0, color="#999999", linewidth=0.6, zorder=0)
    axis.yaxis.set_major_locator(MaxNLocator(4))
    measured = f"variance {histogram.variance:.3g}, exact {100 * histogram.exact:.0f} %"
    axis.text(0.5, 1.03, measured, transform=axis.transAxes, ha="center", fontsize=7.5)


def _curves(section: FigureSection, results: Results) -> Figure | None:
    panels = [
        panel for panel in section.panels if any(curve(system, section, results) for system in panel.systems)
    ]
    if not panels:
        return None
    test = results.matrix.test(section.test)
    figure, axes = _canvas(section.title, len(panels), columns=2, height=2.9)
    for axis, panel in zip(axes, panels, strict=True):
        _mark_lengths(axis, section.seen, section.unseen)
        _draw_panel(axis, panel, section, results)
        if section.kind == "variance":
            _show_zero(axis)
    _level(axes)
    what = "ROUGE-1 F1 (%)" if section.kind == "rouge" else f"variance ({_units(test.unit)}²)"
    shaded = "; shaded: lengths in training" if section.seen else ""
    dashed = "; dashed: lengths left out" if section.unseen else ""
    figure.supxlabel(f"length that was asked for ({_units(test.unit)}{shaded}{dashed})", fontsize=9)
    figure.supylabel(what, fontsize=9)
    return figure


def _draw_panel(axis: Axes, panel: PanelSection, section: FigureSection, results: Results) -> None:
    for system in panel.systems:
        points = curve(system, section, results)
        if not points:
            continue
        style = style_of(system)
        lengths, values, lows, highs = zip(*points, strict=True)
        axis.plot(
            lengths,
            values,
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markersize=4.5,
            linewidth=1.4,
            label=system,
        )
        axis.fill_between(lengths, lows, highs, color=style.colour, alpha=0.13, linewidth=0)
    axis.set_title(panel.title)
    axis.legend(fontsize=7.5, framealpha=0.85, edgecolor="none")


def _mark_lengths(axis: Axes, seen: Band | None, unseen: Sequence[int]) -> None:
    if seen:
        axis.axvspan(*seen, color="#f0f0f0", zorder=0)
    for length in unseen:
        axis.axvline(length, color="#999999", linewidth=0.8, linestyle=(0, (2, 2)), zorder=0)


def _level(axes: Sequence[Axes]) -> None:
    """Give all parts the range that the widest of them needs."""
    limits = [axis.get_ylim() for axis in axes]
    for axis in axes:
        axis.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def _show_zero(axis: Axes) -> None:
    """Make the axis logarithmic down to small variances, and linear from there to zero."""
    axis.set_yscale("symlog", linthresh=_LEAST_VARIANCE, linscale=0.5)
    axis.set_ylim(bottom=-_LEAST_VARIANCE / 2)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _canvas(title: str, panels: int, *, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    columns = min(columns, panels)
    rows = ceil(panels / columns)
    figure = Figure(figsize=(8.0, height * rows + 0.9), layout="constrained")
    figure.suptitle(title, fontsize=11)
    axes = [figure.add_subplot(rows, columns, place + 1) for place in range(panels)]
    return figure, axes


def _units(unit: str) -> str:
    return "characters" if unit == "char" else unit
