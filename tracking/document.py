"""A report as a list of blocks, before it is a page or a Markdown file.

Blocks hold plain text; escaping is the job of whoever renders them (:mod:`tracking.html`,
:mod:`tracking.markdown`). A picture is drawn only when it is rendered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from beeline.analysis import Figure, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["Alarms", "Block", "Document", "Grid", "Heading", "Picture", "Text", "grid_of", "picture_of"]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 2 to 4."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """One paragraph; ``small`` for footnotes."""

    text: str
    small: bool = False


@dataclass(frozen=True, slots=True)
class Alarms:
    """What must be known before any number."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table. The first column is text, and so are those named in ``words`` (by place); the rest
    are numbers. Rows named in ``aside`` (by place) are not ours: they are set apart."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    words: frozenset[int] = frozenset()
    aside: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure: ``draw`` is called inside :func:`tracking.figures_style.styled`."""

    name: str
    """File name without suffix; unique in a document."""
    title: str
    caption: str
    """What to see, also for those who cannot see it."""
    draw: Callable[[], Canvas]


Block = Heading | Text | Alarms | Grid | Picture


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report."""

    title: str
    lede: str
    """What it is about, in a sentence or two."""
    blocks: Sequence[Block]


def grid_of(table: Table) -> Grid:
    """The table of an analysis: a column is of numbers when most of its cells start like one."""
    words = frozenset(
        at
        for at in range(1, len(table.headings))
        if 2 * sum(_numeric(row[at]) for row in table.rows) < len(table.rows)
    )
    return Grid(table.title, table.headings, table.rows, table.notes, words)


def _numeric(cell: str) -> bool:
    return not cell or cell[0].isdigit() or cell[0] in "-+−±<>$~"  # noqa: RUF001


def picture_of(figure: Figure, name: str) -> Picture:
    """The figure of an analysis, or of the report, under a name of its own."""

    def drawing() -> Canvas:
        from tracking.figures import draw

        return draw(figure)

    return Picture(name, figure.title, figure.caption, drawing)
