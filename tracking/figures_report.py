"""The report's own figures that are more than one pair of axes: panels a model, and cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from beeline.statistics import Interval
from beeline.statistics.calibration import Bin
from tracking.figures_style import INK, PALETTE, canvas, format_number, log_axis, visible, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

__all__ = [
    "Curve",
    "Histogram",
    "Measured",
    "Priced",
    "calibration",
    "choices",
    "cost",
    "frontier",
    "positions",
]

_BLUE, _GREEN, _GREY = PALETTE[0], PALETTE[2], "#8b949e"


@dataclass(frozen=True, slots=True)
class Measured:
    """One measure of choices: for each arm its values by domain."""

    title: str
    unit: str
    values: Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Curve:
    """One model's reliability curve."""

    label: str
    bins: Sequence[Bin]
    error: float
    """Expected calibration error."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Where one model's choices stood: shares of equal stretches."""

    label: str
    shares: Sequence[float]
    p_value: float


@dataclass(frozen=True, slots=True)
class Priced:
    """A model's score and what a thousand decisions cost, in dollars."""

    label: str
    score: Interval
    dollars: float


def choices(labels: Sequence[str], measures: Sequence[Measured]) -> Canvas:
    """A column a measure, a row an arm: its mean over domains, and a faint mark for each domain."""
    texts = [wrap(label, 22) for label in labels]
    lines = sum(text.count("\n") + 1.35 for text in texts)
    drawn, panels = canvas(max(1.6, 0.17 * lines + 0.9), 1, len(measures), sharey=True, squeeze=False)
    for axes, measure in zip(panels.flat, measures, strict=True):
        for row, values in enumerate(measure.values):
            if values:
                axes.plot(values, [row] * len(values), "|", color=_GREY, markersize=7, zorder=2)
                axes.plot([sum(values) / len(values)], [row], "o", color=_BLUE, zorder=3)
        axes.set_xlabel(measure.unit)
        axes.set_title(wrap(measure.title, 26), fontsize=9)
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(_few())
        axes.xaxis.set_major_formatter(lambda value, _: format_number(round(value, 10)))
    panels.flat[0].set_yticks(range(len(labels)), texts)
    panels.flat[0].set_ylim(len(labels) - 0.4, -0.6)
    return drawn


def _few() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(4)


def calibration(curves: Sequence[Curve]) -> Canvas:
    """Share that was right against probability, one panel a model."""
    drawn, panels = _panels(len(curves), 2.15)
    for axes, curve in zip(panels, curves, strict=False):
        axes.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        xs, ys = [b.probability for b in curve.bins], [b.share.value for b in curve.bins]
        error = [
            [max(0.0, b.share.value - b.share.low) for b in curve.bins],
            [max(0.0, b.share.high - b.share.value) for b in curve.bins],
        ]
        axes.errorbar(xs, ys, yerr=error, fmt="o-", color=_BLUE, markersize=3.5, linewidth=1.1, elinewidth=1)
        axes.set_xlim(-0.03, 1.03)
        axes.set_ylim(-0.03, 1.03)
        ticks = [0, 0.5, 1]
        axes.set_xticks(ticks, [format_number(t) for t in ticks])
        axes.set_yticks(ticks, [format_number(t) for t in ticks])
        axes.set_title(f"{wrap(curve.label, 24)}\nerror {curve.error:.2f}", fontsize=8.5, fontweight="normal")
    drawn.supxlabel("probability given to the chosen option", fontsize=9, color=INK)
    drawn.supylabel("share that was optimal", fontsize=9, color=INK)
    return drawn


def positions(histograms: Sequence[Histogram]) -> Canvas:
    """Share of choices by tenth of the way from first to last shown, one panel a model."""
    drawn, panels = _panels(len(histograms), 1.75)
    top = max(max(h.shares) for h in histograms) * 1.08
    for axes, histogram in zip(panels, histograms, strict=False):
        count = len(histogram.shares)
        axes.bar(
            [(k + 0.5) / count for k in range(count)], histogram.shares, 0.92 / count, color=_BLUE, zorder=2
        )
        axes.axhline(1 / count, color=INK, linewidth=0.9, linestyle=(0, (4, 3)), zorder=3)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, max(top, 2 / count))
        axes.set_xticks([0, 0.5, 1], ["first", "middle", "last"])
        axes.grid(axis="x", visible=False)
        p = f"p = {histogram.p_value:.3f}" if histogram.p_value > 0.001 else "p ≤ 0.001"
        axes.set_title(f"{wrap(histogram.label, 24)}\n{p}", fontsize=8.5, fontweight="normal")
        first, _, last = axes.get_xticklabels()
        first.set_horizontalalignment("left")
        last.set_horizontalalignment("right")
    drawn.supxlabel("place of the chosen option among those shown", fontsize=9, color=INK)
    drawn.supylabel("share of choices", fontsize=9, color=INK)
    return drawn


def _panels(count: int, height: float) -> tuple[Canvas, list[Axes]]:
    """As many axes as there are models, three a row; what is left over is no empty panel."""
    columns = min(3, count)
    rows = math.ceil(count / columns)
    drawn, grid = canvas(height * rows + 0.4, rows, columns, squeeze=False)
    panels = list(grid.flat)
    for spare in panels[count:]:
        spare.remove()
    return drawn, panels[:count]


def frontier(points: Sequence[Priced]) -> list[Priced]:
    """The models that no other beats at no more cost, by rising cost; of equals all stay."""
    best, kept = 0.0, list[Priced]()
    for point in sorted(points, key=lambda p: (p.dollars, -p.score.value, p.label)):
        tied = kept and (point.dollars, point.score.value) == (kept[-1].dollars, kept[-1].score.value)
        if point.score.value > best or tied:
            kept.append(point)
            best = point.score.value
    return kept


def cost(points: Sequence[Priced], lines: Sequence[tuple[str, float]]) -> Canvas:
    """Score against cost, both logarithmic, with the efficient frontier. A model that costs nothing
    stands at the left edge. ``lines`` are scores of arms without a model, drawn across."""
    drawn, axes = canvas(4.2)
    paid = [p.dollars for p in points if p.dollars > 0]
    free = any(p.dollars <= 0 for p in points)
    nothing = min(paid) / 6
    best = frontier(points)

    def x(point: Priced) -> float:
        return point.dollars if point.dollars > 0 else nothing

    steps = [(x(p), p.score.value) for p in best]
    axes.step(
        [s[0] for s in steps], [s[1] for s in steps], where="post", color=_GREEN, linewidth=1.2, zorder=2
    )
    for point in points:
        on = point in best
        axes.errorbar(
            [x(point)],
            [point.score.value],
            yerr=[
                [max(0.0, point.score.value - point.score.low)],
                [max(0.0, point.score.high - point.score.value)],
            ],
            fmt="D" if on else "o",
            color=_GREEN if on else _BLUE,
            elinewidth=1.1,
            zorder=3,
        )
    scores = [b for p in points for b in (p.score.low, p.score.high)] + [value for _, value in lines]
    log_axis(axes, "x", [*paid, nothing] if free else paid)
    if len({*paid}) == 1 and not free:
        axes.set_xlim(paid[0] / 3, paid[0] * 3)
    log_axis(axes, "y", scores)
    if free:
        _mark_nothing(axes, nothing, min(paid))
    texts: list[tuple[str, float, float]] = [(wrap(p.label, 22), x(p), p.score.value) for p in points]
    for _, value in lines:
        axes.axhline(value, color=_GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    axes.set_xlabel("US dollars for 1,000 decisions (logarithmic)")
    axes.set_ylabel("score (logarithmic)")
    drawn.draw_without_rendering()
    _place(drawn, axes, texts, lines, steps)
    return drawn


def _mark_nothing(axes: Axes, nothing: float, least: float) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter

    edge = math.sqrt(nothing * least)
    axes.axvline(edge, color=_GREY, linewidth=0.8, zorder=1)
    shown = [t for t in axes.get_xticks() if edge < t <= axes.get_xlim()[1]]
    axes.xaxis.set_major_locator(FixedLocator([nothing, *shown]))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: "nothing" if value <= nothing * 1.001 else format_number(value))
    )
    low, high = axes.get_xlim()
    minor = [10.0**k * m for k in range(-12, 6) for m in range(2, 10) if edge < 10.0**k * m < high]
    axes.xaxis.set_minor_locator(FixedLocator(minor))
    axes.set_xlim(low, high)


_SIDES = (
    (7, 0, "left", "center"),
    (-7, 0, "right", "center"),
    (5, 6, "left", "bottom"),
    (5, -6, "left", "top"),
    (-5, 6, "right", "bottom"),
    (-5, -6, "right", "top"),
    (7, 14, "left", "bottom"),
    (7, -14, "left", "top"),
    (-7, 14, "right", "bottom"),
    (-7, -14, "right", "top"),
    (9, 24, "left", "bottom"),
    (9, -24, "left", "top"),
    (-9, 24, "right", "bottom"),
    (-9, -24, "right", "top"),
)
"""Offsets of a label from its point, in points of 1/72 inch, best first."""


def _place(
    drawn: Canvas,
    axes: Axes,
    texts: Sequence[tuple[str, float, float]],
    lines: Sequence[tuple[str, float]],
    steps: Sequence[tuple[float, float]],
) -> None:
    """Write each label where it covers the least of points and of labels written before."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Bbox

    agg: Any = FigureCanvasAgg(drawn)
    renderer = agg.get_renderer()
    inside = axes.get_window_extent(renderer)
    taken: list[Bbox] = []
    for _, px, py in texts:
        at = axes.transData.transform((px, py))
        taken.append(Bbox.from_extents(at[0] - 5, at[1] - 5, at[0] + 5, at[1] + 5))
    corners = [axes.transData.transform(step) for step in steps]
    for one, other in pairwise(corners):
        taken.append(Bbox.from_extents(one[0], one[1] - 1, other[0], one[1] + 1))
        taken.append(Bbox.from_extents(other[0] - 1, one[1], other[0] + 1, other[1]))
    for name, value in lines:
        text = axes.annotate(
            visible(name),
            (1.0, value),
            xycoords=axes.get_yaxis_transform(),
            xytext=(-2, 2),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=8,
            color="#6e7781",
        )
        text.set_in_layout(False)
        taken.append(text.get_window_extent(renderer))
    for label, px, py in sorted(texts, key=lambda text: (-text[2], text[1], text[0])):
        best: tuple[float, Any] | None = None
        for across, up, ha, va in _SIDES:
            text = axes.annotate(
                label,
                (px, py),
                xytext=(across, up),
                textcoords="offset points",
                ha=ha,
                va=va,
                fontsize=8,
                color=INK,
                arrowprops={"arrowstyle": "-", "color": _GREY, "linewidth": 0.6} if abs(up) > 10 else None,
            )
            text.set_in_layout(False)
            text.update_positions(renderer)
            box = (
                Bbox.union([text.get_window_extent(renderer)]) if abs(up) <= 10 else _text_box(text, renderer)
            )
            covered = sum(_overlap(box, other) for other in taken)
            outside = box.width * box.height - _overlap(box, inside)
            loss = covered + 3 * outside
            if best is None or loss < best[0]:
                if best is not None:
                    best[1].remove()
                best = (loss, text)
                where = box
            else:
                text.remove()
            if best[0] <= 0:
                break
        taken.append(where)


def _text_box(text: Any, renderer: Any) -> Any:
    """The box of an annotation without its line."""
    from matplotlib.text import Text

    return Text.get_window_extent(text, renderer)


def _overlap(one: Any, other: Any) -> float:
    wide = min(one.x1, other.x1) - max(one.x0, other.x0)
    high = min(one.y1, other.y1) - max(one.y0, other.y0)
    return float(wide * high) if wide > 0 and high > 0 else 0.0
