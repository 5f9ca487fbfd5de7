"""What every plot is drawn with: colours, axes, and the way from a figure to an `<svg>` element."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any

# Okabe and Ito's colours, which colour-blind readers can tell apart; black comes last as it is the text's.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
GREY = "#8a8f98"
INK = "#1c2430"
PALE = ("#c9ced6", "#E69F00")
"""Colours on which writing is dark."""


def look(number: int | None) -> tuple[str, str]:
    """Colour and marker; different for the first 49 numbers."""
    if number is None:
        return GREY, "o"
    return COLOURS[number % len(COLOURS)], MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]


def plain(axes: Any) -> None:
    """Axes without a frame at the top and the right, on a pale grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, color="#e8ebf0", linewidth=0.8)
    axes.set_axisbelow(True)


def literal(text: str) -> str:
    """`text` in one line, cut to a label's length, with dollar signs that do not start a formula."""
    line = " ".join(text.split())
    return (line if len(line) <= 40 else line[:37] + "...").replace("$", r"\$")


def svg(draw: Callable[[Any], None], size: tuple[float, float], name: str) -> str:
    """Draw onto a figure of that size in inches and return the `<svg>` element, the same for the same input."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: Any = {
        "svg.hashsalt": name,
        "svg.fonttype": "path",
        "font.size": 10,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": "#9aa1ac",
        "xtick.color": INK,
        "ytick.color": INK,
    }
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # A label in a script that the font lacks is drawn as boxes; the tables have it in full.
        warnings.filterwarnings("ignore", message="Glyph")
        figure = Figure(figsize=size, layout="constrained")
        # Measuring text needs a canvas that draws; saving takes the SVG one by itself.
        FigureCanvasAgg(figure)
        draw(figure)
        out = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(out, format="svg", transparent=True, metadata=nothing)
    return _inline(out.getvalue(), name)


def _inline(document: str, name: str) -> str:
    """The `<svg>` element alone, its ids made unique in a page of several, its size left to the page."""
    svg = document[document.index("<svg") :]
    # Comments hold the labels, which a log may have named.
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    # Its only rule would hold for the whole page; as an attribute it holds for this picture.
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, count=1, flags=re.DOTALL)
    head, rest = svg.split(">", 1)
    width = re.search(r'width="([\d.]+)pt"', head)
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    size = f' style="width:{float(width[1]) * 4 / 3:.0f}px"' if width else ""
    return f'{head} stroke-linejoin="round" stroke-linecap="butt" aria-hidden="true"{size}>{rest}'.strip()
