"""Figures of an analysis (:class:`beeline.analysis.Figure`) as SVG and PNG.

``x`` and ``y`` mean the data, as in :class:`beeline.analysis.Series`. A ``forest`` lies on its side: its
labels (``x``, ``x_label``) run down, its values (``y``, ``y_label``, ``log_y``, ``reference``) across. A
series whose label starts with "published" is not ours: hollow and grey.
Points that are not finite, and on a logarithmic axis those not above zero, are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from beeline.analysis import Figure, Series
from tracking.figures_style import (
    INK,
    as_png,
    as_svg,
    canvas,
    format_number,
    log_axis,
    shade,
    styled,
    visible,
    wrap,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

__all__ = ["draw", "has_data", "images", "png", "svg"]


def has_data(figure: Figure) -> bool:
    """Whether anything can be drawn: an empty panel is no figure."""
    return any(_points(series, figure) for series in figure.series)


def svg(figure: Figure) -> str:
    """As an SVG document."""
    with styled():
        return as_svg(draw(figure))


def png(figure: Figure) -> bytes:
    """As a PNG image."""
    with styled():
        return as_png(draw(figure))


def images(figure: Figure) -> tuple[str, bytes]:
    """SVG and PNG of one drawing."""
    with styled():
        drawn = draw(figure)
        return as_svg(drawn), as_png(drawn)


def draw(figure: Figure) -> Canvas:
    """The drawing; call inside :func:`tracking.figures_style.styled`. Raises ValueError for an
    unknown kind."""
    if figure.kind not in _KINDS:
        raise ValueError(f"figure {figure.name}: no such kind {figure.kind!r}, there are {', '.join(_KINDS)}")
    return _KINDS[figure.kind](figure)


_THEIRS = "#6e7781"

Point = tuple[Any, float, float, float]
"""x, y, low, high."""


def _points(series: Series, figure: Figure) -> list[Point]:
    """What can be drawn; a bound that is unknown is the point itself."""
    labelled = figure.kind in ("forest", "bars")
    log_y = figure.log_y or (labelled and figure.log_x)
    found = []
    for at, (x, y) in enumerate(zip(series.x, series.y, strict=False)):
        if not _drawable(y, log_y) or not (labelled or _drawable(x, figure.log_x)):
            continue
        low, high = _bound(series.low, at, y, log_y), _bound(series.high, at, y, log_y)
        found.append((x, float(y), low, high))
    return found


def _drawable(value: Any, log: bool) -> bool:
    if not isinstance(value, int | float) or not math.isfinite(value):
        return False
    return value > 0 or not log


def _bound(bounds: Sequence[float | None], at: int, y: float, log: bool) -> float:
    value = bounds[at] if at < len(bounds) else None
    return float(value) if value is not None and _drawable(value, log) else float(y)


def _labels(figure: Figure) -> list[str]:
    """All labels in the order in which they first appear."""
    return list(dict.fromkeys(str(point[0]) for s in figure.series for point in _points(s, figure)))


def _holds(series: Series, figure: Figure, label: str) -> bool:
    return any(str(point[0]) == label for point in _points(series, figure))


def _forest(figure: Figure) -> Canvas:
    labels = _labels(figure)
    rows = {label: row for row, label in enumerate(labels)}
    named = _named(figure.series)
    texts = [wrap(label) for label in labels]
    most = max((sum(_holds(s, figure, label) for s in figure.series) for label in labels), default=1)
    lines = sum(max(text.count("\n") + 1.3, 0.5 * most + 0.75) for text in texts)
    drawn, axes = canvas(max(1.7, 0.18 * lines + 0.95 + 0.2 * bool(named)))
    # Only series that share a row stand side by side in it.
    sharing = {
        label: [i for i, s in enumerate(figure.series) if _holds(s, figure, label)] for label in labels
    }
    step = min(0.24, 0.7 / max(map(len, sharing.values()), default=1))
    for index, series in enumerate(figure.series):
        colour, marker = shade(index)
        points = _points(series, figure)
        ys = []
        for point in points:
            mine = sharing[str(point[0])]
            ys.append(rows[str(point[0])] + (mine.index(index) - (len(mine) - 1) / 2) * step)
        _bars_of_error(axes, [p[1] for p in points], ys, points, colour, marker, series.label, across=True)
    axes.set_yticks(range(len(labels)), texts)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    _value_axis(axes, figure, "x", figure.log_y or figure.log_x)
    if isinstance(figure.reference, int | float):
        axes.axvline(figure.reference, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    _words(drawn, axes, figure, figure.y_label, figure.x_label, named)
    return drawn


def _bars(figure: Figure) -> Canvas:
    labels = _labels(figure)
    places = {label: at for at, label in enumerate(labels)}
    named = _named(figure.series)
    drawn, axes = canvas(3.2 + 0.2 * bool(named))
    width = 0.8 / max(len(figure.series), 1)
    for index, series in enumerate(figure.series):
        colour, _ = shade(index)
        points = _points(series, figure)
        xs = [places[str(p[0])] + (index - (len(figure.series) - 1) / 2) * width for p in points]
        heights = [p[1] for p in points]
        axes.bar(xs, heights, width * 0.92, color=colour, label=visible(series.label), zorder=2)
        spread = [(x, p) for x, p in zip(xs, points, strict=True) if p[2] < p[1] or p[3] > p[1]]
        if spread:
            axes.errorbar(
                [x for x, _ in spread],
                [p[1] for _, p in spread],
                [[p[1] - p[2] for _, p in spread], [p[3] - p[1] for _, p in spread]],
                fmt="none",
                ecolor=INK,
                elinewidth=1,
                capsize=2,
                zorder=3,
            )
    longest = max((len(label) for label in labels), default=0)
    crowded = longest * len(labels) > 70
    axes.set_xticks(range(len(labels)), [wrap(label, 22 if crowded else 14) for label in labels])
    if crowded:
        axes.tick_params(axis="x", rotation=40)
        for text in axes.get_xticklabels():
            text.set_horizontalalignment("right")
            text.set_rotation_mode("anchor")
    axes.grid(axis="x", visible=False)
    _value_axis(axes, figure, "y", figure.log_y)
    _reference(axes, figure)
    _words(drawn, axes, figure, figure.x_label, figure.y_label, named)
    return drawn


def _lines(figure: Figure) -> Canvas:
    return _plane(figure, joined=True)


def _scatter(figure: Figure) -> Canvas:
    return _plane(figure, joined=False)


def _plane(figure: Figure, joined: bool) -> Canvas:
    named = _named(figure.series)
    square = figure.reference == "diagonal"
    drawn, axes = canvas((4.6 if square else 3.4) + 0.2 * bool(named))
    everything = [point for series in figure.series for point in _points(series, figure)]
    for index, series in enumerate(figure.series):
        colour, marker = shade(index)
        points = _points(series, figure)
        if joined:
            points.sort(key=lambda point: point[0])
            axes.plot([p[0] for p in points], [p[1] for p in points], color=colour, linewidth=1.4, zorder=2)
        xs = [p[0] for p in points]
        _bars_of_error(axes, xs, [p[1] for p in points], points, colour, marker, series.label, across=False)
    if figure.log_x:
        log_axis(axes, "x", [p[0] for p in everything])
    else:
        _plain_ticks(axes, "x")
    _value_axis(axes, figure, "y", figure.log_y)
    _reference(axes, figure)
    _words(drawn, axes, figure, figure.x_label, figure.y_label, named)
    return drawn


_KINDS: Mapping[str, Callable[[Figure], Canvas]] = {
    "forest": _forest,
    "bars": _bars,
    "lines": _lines,
    "scatter": _scatter,
}


def _bars_of_error(
    axes: Axes,
    xs: Sequence[float],
    ys: Sequence[float],
    points: Sequence[Point],
    colour: str,
    marker: str,
    label: str,
    across: bool,
) -> None:
    """Markers with their intervals."""
    error = [[p[1] - p[2] for p in points], [p[3] - p[1] for p in points]]
    # Bounds that lie on the wrong side of their value (a percentile interval may) reach no further.
    error = [[max(0.0, size) for size in side] for side in error]
    theirs = label.startswith("published")
    if theirs:
        colour = _THEIRS
    axes.errorbar(
        xs,
        ys,
        xerr=error if across else None,
        yerr=None if across else error,
        fmt=marker,
        color=colour,
        markeredgecolor=colour,
        markerfacecolor="none" if theirs else colour,
        elinewidth=1.4,
        capsize=0,
        label=visible(label),
        zorder=3,
    )


def _value_axis(axes: Axes, figure: Figure, which: str, log: bool) -> None:
    points = [p for series in figure.series for p in _points(series, figure)]
    values = [bound for p in points for bound in p[1:]]
    if isinstance(figure.reference, int | float):
        values.append(figure.reference)
    if log:
        log_axis(axes, which, values)
    else:
        _plain_ticks(axes, which)


def _plain_ticks(axes: Axes, which: str) -> None:
    from matplotlib.ticker import FuncFormatter

    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(FuncFormatter(lambda value, _: format_number(round(value, 10))))


def _reference(axes: Axes, figure: Figure) -> None:
    if figure.reference is None:
        return
    style: dict[str, Any] = {"color": INK, "linewidth": 1, "linestyle": (0, (4, 3)), "zorder": 1}
    if figure.reference == "diagonal":
        axes.set_box_aspect(1)
        ends = [p[i] for series in figure.series for p in _points(series, figure) for i in (0, 1)]
        if all(0 <= end <= 1 for end in ends):
            axes.set_xlim(-0.03, 1.03)
            axes.set_ylim(-0.03, 1.03)
        axes.axline((0, 0), (1, 1), **style)
    else:
        axes.axhline(float(figure.reference), **style)


def _named(series: Sequence[Series]) -> list[str]:
    """Series to tell apart in a legend: none when there is only one."""
    return [s.label for s in series if s.label] if len(series) > 1 else []


def _words(drawn: Canvas, axes: Axes, figure: Figure, across: str, up: str, named: Sequence[str]) -> None:
    if figure.title:
        drawn.suptitle(wrap(figure.title, 84), x=0.01, ha="left", fontsize=10, fontweight="bold", color=INK)
    axes.set_xlabel(wrap(across, 70) if across else "")
    axes.set_ylabel(wrap(up, 40) if up else "")
    if named:
        columns = max(1, min(len(named), 84 // (max(map(len, named)) + 6)))
        drawn.legend(loc="outside lower left", ncols=columns)
