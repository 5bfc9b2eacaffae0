"""Numbers and intervals as studies show them: text, points of a figure, JSON data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from beeline.analysis import Series
from beeline.statistics import Interval

__all__ = ["fine", "in_cases", "number", "percent", "plain", "series", "span", "times"]


def series(label: str, x: Sequence[str], intervals: Sequence[Interval]) -> Series:
    """Intervals as points; a bound that is not finite is left out."""

    def bounds(values: Iterable[float]) -> tuple[float | None, ...]:
        return tuple(value if math.isfinite(value) else None for value in values)

    return Series(
        label,
        tuple(x),
        tuple(i.value for i in intervals),
        bounds(i.low for i in intervals),
        bounds(i.high for i in intervals),
    )


def number(value: float) -> str:
    """Two decimals from 0.01 up, else two significant digits, as published tables print."""
    return f"{value:.2f}" if value >= 0.01 or value == 0 else f"{value:.2g}"


def fine(value: float) -> str:
    """Two decimals from 0.1 up, else two significant digits: for scores that are to be told apart.

    >>> fine(0.512), fine(0.0387), fine(0.0041)
    ('0.51', '0.039', '0.0041')
    """
    return f"{value:.2f}" if value >= 0.0995 or value == 0 else f"{value:.2g}"


def times(value: float) -> str:
    """A ratio: two decimals below 10, else whole.

    >>> times(1.374), times(0.85), times(151.45)
    ('1.37', '0.85', '151')
    """
    return f"{value:.2f}" if value < 9.995 else f"{value:.0f}"


def span(interval: Interval, show: Callable[[float], str] = number) -> str:
    """The bounds."""
    return f"{show(interval.low)} to {show(interval.high)}"


def in_cases(p_value: float) -> str:
    """A p-value in percent: two digits below 10%, whole above.

    >>> in_cases(0.0005), in_cases(0.034), in_cases(0.14), in_cases(1.0)
    ('0.05%', '3.4%', '14%', '100%')
    """
    return f"{100 * p_value:.2g}%" if p_value < 0.0995 else f"{100 * p_value:.0f}%"


def percent(interval: Interval | None) -> str:
    """A share in percent with its bounds; empty for None. What is above 0 is never shown as 0.

    >>> percent(Interval(0.0625, 0.03, 0.1)), percent(Interval(0.00015, 0.0, 0.0009))
    ('6.2% (3.0 to 10.0)', '0.015% (0.0 to 0.1)')
    """
    if interval is None:
        return ""
    value, low, high = (
        f"{100 * share:.1f}" if share == 0 or share >= 0.0005 else f"{100 * share:.2g}"
        for share in (interval.value, interval.low, interval.high)
    )
    return f"{value}% ({low} to {high})"


def plain(interval: Interval | None) -> dict[str, float | None] | None:
    """JSON data; a bound that is not finite is None."""
    if interval is None:
        return None
    values = {"value": interval.value, "low": interval.low, "high": interval.high}
    return {name: value if math.isfinite(value) else None for name, value in values.items()}
