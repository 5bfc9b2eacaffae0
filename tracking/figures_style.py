"""How every figure looks, and how it becomes bytes: the same input, the same bytes.

Nothing of matplotlib is imported before the first figure. Colours are those of Okabe and Ito ("Color
Universal Design", 2008), told apart by people with any kind of colour vision; a marker of its own
goes with each, so that no figure needs colour to be read. No text is read as mathematics: names of
models and hosts may hold any sign.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

__all__ = [
    "INK",
    "MARKERS",
    "PALETTE",
    "WIDTH",
    "as_png",
    "as_svg",
    "canvas",
    "format_number",
    "inline",
    "log_axis",
    "shade",
    "styled",
    "visible",
    "wrap",
]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D1F")
"""Okabe and Ito's, their yellow (too pale on white) replaced by a dark one of the same hue."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")
INK = "#24292f"
"""Text and axes; becomes the colour of the text around it in a page (:func:`inline`)."""
_FAINT = "#8b949e"
WIDTH = 6.4
"""Inches."""

_SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "beeline",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "axes.formatter.use_mathtext": False,
    "axes.unicode_minus": True,
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.linewidth": 0.5,
    "grid.alpha": 0.35,
    "grid.color": _FAINT,
    "lines.linewidth": 1.5,
    "lines.markersize": 5,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "xtick.major.width": 0.8,
    "ytick.major.width": 0.8,
    "xtick.minor.width": 0.5,
    "ytick.minor.width": 0.5,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    **{
        name: INK
        for name in ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    },
}


@contextmanager
def styled() -> Iterator[None]:
    """Within it every drawing call has our settings, whatever a user's matplotlibrc says."""
    import matplotlib

    with warnings.catch_warnings(), matplotlib.rc_context():
        # A sign that the drawing font lacks is drawn as a box in the PNG; the SVG holds the text.
        warnings.filterwarnings("ignore", message=".*Glyph .* missing from")
        # Names may be longer than the figure: the axes then keep what room is left.
        warnings.filterwarnings("ignore", message=".*constrained_layout not applied")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


def canvas(height: float, rows: int = 1, columns: int = 1, **settings: Any) -> tuple[Canvas, Any]:
    """A figure ``height`` inches high and its axes (``Figure.subplots``); call inside :func:`styled`."""
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **settings)


def as_svg(figure: Canvas) -> str:
    """An SVG document, its text kept as text, with a white ground."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, facecolor="white")
    return out.getvalue()


def as_png(figure: Canvas) -> bytes:
    """A PNG image with a white ground."""
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None}, facecolor="white")
    return out.getvalue()


_ID = re.compile(r'\b(id="|href="#|url\(#)')


def inline(svg: str, name: str, label: str) -> str:
    """The SVG element to put into a page: no ground, ink in the colour of the text around it, ids
    that no other figure has (``name`` starts them), ``label`` for those who cannot see it."""
    from html import escape

    body = svg[svg.index("<svg") :]
    head, rest = body.split(">", 1)
    box = re.search(r'viewBox="[^"]+"', head)
    assert box is not None
    rest = re.sub(r"<metadata>.*?</metadata>", "", rest, count=1, flags=re.DOTALL)
    rest = re.sub(r"<!--.*?-->\s*", "", rest, flags=re.DOTALL)
    # The first patch is the ground.
    rest = re.sub(r'<g id="patch_1">.*?</g>\s*', "", rest, count=1, flags=re.DOTALL)
    rest = _ID.sub(lambda match: f"{match.group(1)}{name}-", rest)
    rest = rest.replace("fill: #ffffff", "fill: none").replace(INK, "currentColor")
    label = escape(label, quote=True)
    return f'<svg {box.group(0)} role="img" aria-label="{label}" xmlns:xlink="http://www.w3.org/1999/xlink">{rest}'


def shade(index: int) -> tuple[str, str]:
    """Colour and marker of series ``index``; pairs repeat after 70."""
    return PALETTE[index % len(PALETTE)], MARKERS[index % len(MARKERS)]


def wrap(label: str, width: int = 26) -> str:
    """A label in lines of at most ``width`` characters, unprintable ones replaced."""
    return "\n".join(textwrap.wrap(visible(label), width)) or " "


def visible(text: str) -> str:
    """Text with everything that is not printable replaced."""
    return "".join(c if c.isprintable() else "?" for c in text)


def format_number(value: float) -> str:
    """A tick's label: plain digits from 0.0001 to 10 million, powers of ten beyond.

    >>> [format_number(v) for v in (0.0, 0.001, 0.25, 3.0, 1500, 2e9)]
    ['0', '0.001', '0.25', '3', '1,500', '2e9']
    """
    if not value:
        return "0"
    size = abs(value)
    if size < 1e-4 or size >= 1e7:
        digits, exponent = f"{value:.3g}".partition("e")[0], math.floor(math.log10(size))
        digits = f"{value / 10.0**exponent:.3g}"
        return f"{digits}e{exponent}"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.6g}"


def log_axis(axes: Axes, which: str, values: Sequence[float]) -> None:
    """Make ``x`` or ``y`` logarithmic, with labels such as 0.01; less than a decade and a
    half gets 1, 2, 5, less than a factor of 5 more."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    axis = axes.xaxis if which == "x" else axes.yaxis
    known = [value for value in values if value > 0]
    narrow = bool(known) and max(known) < 30 * min(known)
    if known:
        low, high = min(known), max(known)
        room = max((high / low) ** 0.06, 1.1)
        (axes.set_xlim if which == "x" else axes.set_ylim)(low / room, high * room)
    subs: tuple[float, ...] = (1.0, 2.0, 5.0) if narrow else (1.0,)
    if known and max(known) < 5 * min(known):  # 0.8 to 1.7 would have the one label 1
        subs = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
    axis.set_major_locator(LogLocator(10, subs=subs, numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: format_number(value)))
    axis.set_minor_formatter(NullFormatter())
