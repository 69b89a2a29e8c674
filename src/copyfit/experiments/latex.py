"""Tables as LaTeX, in the layout of the paper's."""

from copyfit.experiments.grid import Figure, Grid, Row

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "–": "--",
    "±": r"$\pm$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    "|": r"\textbar{}",
}


def latex(grid: Grid) -> str:
    """Render a table environment."""
    width = 1 + len(grid.columns) * len(grid.measures)
    kind = "table*" if width > 4 else "table"
    body = []
    for section, rows in grid.sections():
        body.append(rf"\multicolumn{{{width}}}{{|l|}}{{{escaped(section)}}} \\ \hline")
        body += [_line(row, grid) for row in rows]
        body[-1] += r" \hline"
    return "\n".join(
        [
            rf"\begin{{{kind}}}[!t]",
            r"\centering",
            r"\footnotesize",
            rf"\begin{{tabular}}{{| l |{_columns(grid)}}} \hline",
            *_heads(grid),
            *body,
            r"\end{tabular}",
            rf"\caption{{{escaped(grid.caption)}\label{{tab:{grid.name}}}}}",
            rf"\end{{{kind}}}",
            "",
        ]
    )


def _columns(grid: Grid) -> str:
    return f" {' '.join('r' * len(grid.measures))} |" * len(grid.columns)


def _heads(grid: Grid) -> list[str]:
    each = len(grid.measures)
    heads = []
    groups = [column.group for column in grid.columns]
    if any(groups):
        heads.append(_spanned([(group, each * groups.count(group)) for group in dict.fromkeys(groups)], ""))
    if each == 1:
        return [*heads, _spanned([(column.title, 1) for column in grid.columns], "Model")]
    heads.append(_spanned([(column.title, each) for column in grid.columns], ""))
    return [*heads, _spanned([(measure, 1) for _ in grid.columns for measure in grid.measures], "Model")]


def _spanned(titles: list[tuple[str, int]], first: str) -> str:
    cells = [rf"\multicolumn{{{span}}}{{c|}}{{{escaped(title)}}}" for title, span in titles]
    return " & ".join([first, *cells]) + r" \\ \hline"


def _line(row: Row, grid: Grid) -> str:
    cells = (_cell(figure, place, grid) for place, figure in enumerate(row.figures))
    return " & ".join([escaped(row.label), *cells]) + r" \\"


def _cell(figure: Figure, place: int, grid: Grid) -> str:
    digits = grid.digits
    ours = "--" if figure.mean is None else f"{figure.mean:.{digits}f}"
    shown = rf"{{\bf {ours}}}" if grid.is_best(place, figure) else ours
    spread = "" if figure.spread is None else rf"\,$\pm$\,{figure.spread:.{digits}f}"
    beside = "" if figure.published is None else rf" {{\scriptsize({figure.published:.{digits}f})}}"
    return shown + spread + beside


def escaped(text: str) -> str:
    """Write text so that LaTeX shows it as it is."""
    return "".join(_ESCAPES.get(mark, mark) for mark in text)
