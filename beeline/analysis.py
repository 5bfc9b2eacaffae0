"""What a study concludes, as plain data that a report can show in any form.

A study computes an :class:`Analysis` from records, traces and archives alone; tables and figures
are drawn elsewhere (tracking), from this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

__all__ = ["Analysis", "Figure", "Series", "Table"]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under headings."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one colour. ``low`` and ``high`` are bounds of ``y`` where there are any; ``x`` holds
    numbers, or labels for a forest or bars."""

    label: str
    x: tuple[Any, ...]
    y: tuple[float, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure by kind: ``forest`` (one line a label, interval across), ``bars``, ``lines`` or
    ``scatter``. ``reference`` is a line to compare with (chance, no effect, the diagonal)."""

    name: str
    """File name without suffix."""
    kind: Literal["forest", "bars", "lines", "scatter"]
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    reference: float | Literal["diagonal"] | None = None
    log_x: bool = False
    log_y: bool = False
    caption: str = ""
    """What to see, for people who cannot see it: also the alternative text."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """The conclusion of one study on one domain."""

    study: str
    domain: str
    model: str
    version: str
    sentence: str
    """What was found, in one sentence."""
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    """Every number behind the tables, as JSON data."""
    notes: Sequence[str] = ()
    variant: str = ""
    """What tells it from others of its study, model and domain, fit for a file name; empty where a new
    one takes the place of the last."""

    @property
    def stem(self) -> str:
        """The start of the names of its files; up to the first dot it is the domain."""
        return f"{self.domain}.{self.variant}" if self.variant else self.domain

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON data, without an empty variant."""
        data = asdict(self)
        if not self.variant:
            del data["variant"]
        return data
