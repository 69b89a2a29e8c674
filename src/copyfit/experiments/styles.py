"""How each system looks in every figure: one colour, line and marker by its name, apart in grey too."""

import hashlib
from typing import NamedTuple


class Style(NamedTuple):
    """Be how a system is drawn."""

    colour: str
    marker: str
    line: str = "-"


# Systems that are not told the length are grey; dark and light colours take turns within a family.
STYLES = {
    "Transformer": Style("#000000", "o"),
    "LSTM": Style("#6e6e6e", "p"),
    "Convolutional": Style("#a6a6a6", "D", "--"),
    "LenInit": Style("#a63603", "^", "--"),
    "LenEmb": Style("#e6a000", "v", ":"),
    "LC": Style("#7a4a12", "P", "-."),
    "Length bins": Style("#cc79a7", "X", ":"),
    "Transformer+PRE": Style("#00785a", "*", "-."),
    "Transformer+LDPE": Style("#56b4e9", "v", "--"),
    "Transformer+LDPE+PE": Style("#004c80", "s"),
    "Transformer+LRPE": Style("#b08ad9", "^", ":"),
    "Transformer+LRPE+PE": Style("#5a189a", "D", "-."),
}
_OTHER_COLOURS = ("#8b0000", "#2e8b57", "#b8860b", "#4682b4", "#c71585", "#556b2f")
_OTHER_MARKERS = ("h", "p", "<", ">", "d", "8")


def style_of(system: str) -> Style:
    """Return how a system is drawn; a variation, named behind a comma, keeps its system's colour, dotted."""
    family, comma, _ = system.partition(",")
    if family in STYLES:
        style = STYLES[family]
        return style._replace(line=":", marker="x") if comma else style
    place = int.from_bytes(hashlib.sha256(system.encode()).digest()[:4], "big")
    count = len(_OTHER_COLOURS)
    return Style(_OTHER_COLOURS[place % count], _OTHER_MARKERS[place // count % count], "--")
