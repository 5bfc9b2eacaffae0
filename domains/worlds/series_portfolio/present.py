"""Tools of series portfolio and the desk behind them.

Both interfaces tell the members of a series as positions, together with its adjustments. *Mediated* also
names a license, which stands between a series and its members; it means nothing beyond the answer and
is in no decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from beeline.world import Argument, Interface, Presentation, Tool, ToolError, Verdict
from domains.worlds.handles import key_of, scattered
from domains.worlds.series_portfolio.instance import Portfolio, Series, check

__all__ = ["PAGE", "SUBMIT", "TOOLS", "Layout", "SeriesDesk", "layout_of", "pages"]

PAGE = 24
"""Series of a page; the last page holds the rest."""

_LOTS = Argument("lots", "array", "Lot ids, one of each title, in any order.")
_TITLE = Argument("title", "string", "A title id.")

TOOLS = (
    Tool("read_title", "Give the two lots of one title with their base values.", (_TITLE,)),
    Tool(
        "read_series",
        "Give the member positions of one series and its adjustments.",
        (Argument("series", "string", "A series id."),),
    ),
    Tool(
        "read_series_page",
        "Give positions and adjustments of all series of one page. Pages are fixed; other ranges are errors.",
        (
            Argument("start", "integer", "Place of the page's first series: 0, 24, 48 and so on.", 0),
            Argument("length", "integer", "Series of the page: 24, or what is left on the last.", 1, PAGE),
        ),
    ),
    Tool(
        "read_title_index",
        "List the lots of one title and the series it is a member of; tells neither values nor adjustments.",
        (_TITLE,),
    ),
    Tool(
        "read_catalog_window",
        "Give the lots and base values of two or three consecutive titles.",
        (
            Argument("start", "integer", "Position of the first title, counted from 0.", 0),
            Argument("length", "integer", "How many titles: 2 or 3.", 2, 3),
        ),
    ),
    Tool(
        "evaluate_portfolio",
        "Judge one candidate, once: does it take one lot of each title, and what is it worth?",
        (_LOTS,),
    ),
)
SUBMIT = Tool("submit_portfolio", "Hand in the final lots. Free, binding, ends the task.", (_LOTS,))


@dataclass(frozen=True, slots=True)
class Layout:
    """The orders and connectors of one interface."""

    lots: Mapping[str, tuple[str, ...]]
    """The lots of each title in the order in which they are told."""
    licenses: Mapping[str, str]
    """License of each series, one to one; shown in the mediated interface."""


def layout_of(instance: Portfolio, interface: Interface) -> Layout:
    """The layout of our own worlds: by handles alone."""
    return Layout(
        lots={
            title.id: tuple(scattered((title.zero.id, title.one.id), "lots", interface, title.id))
            for title in instance.titles
        },
        licenses={row.id: f"LIC-{key_of('license', row.id)[:12].upper()}" for row in instance.series},
    )


def pages(count: int) -> list[tuple[int, int]]:
    """(start, length) of each page of so many series."""
    return [(start, min(PAGE, count - start)) for start in range(0, count, PAGE)]


class SeriesDesk(Presentation):
    """Answers for one instance behind one interface."""

    def __init__(self, instance: Portfolio, interface: Interface, layout: Layout | None = None) -> None:
        self.instance = instance
        self.interface = interface
        self.layout = layout or layout_of(instance, interface)
        self.title_at = {title.id: i for i, title in enumerate(instance.titles)}
        self.series_at = {row.id: i for i, row in enumerate(instance.series)}
        self.pages = dict(pages(len(instance.series)))

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """See :class:`~beeline.world.Presentation`."""
        if tool == "read_title":
            return self._title(self._place(arguments["title"]))
        if tool == "read_series":
            if arguments["series"] not in self.series_at:
                raise ToolError("no series has this id")
            return self._series(self.instance.series[self.series_at[arguments["series"]]])
        if tool == "read_series_page":
            return self._page(arguments["start"], arguments["length"])
        if tool == "read_title_index":
            return self._index(self._place(arguments["title"]))
        if tool == "read_catalog_window":
            start, length = arguments["start"], arguments["length"]
            if start + length > self.instance.size:
                raise ToolError("the window reaches beyond the last title")
            return {"titles": [self._title(place) for place in range(start, start + length)]}
        raise ToolError(f"there is no tool named {tool}")

    def evaluate(self, value: Any) -> dict[str, Any]:
        """See :class:`~beeline.world.Presentation`."""
        verdict = self.check(value)
        if not verdict.feasible:
            return {"complete": False, "legal": False}
        return {"complete": True, "legal": True, "settled_value": verdict.objective}

    def check(self, value: Any) -> Verdict:
        """See :class:`~beeline.world.Presentation`."""
        return check(self.instance, value)

    def acknowledge(self, verdict: Verdict) -> dict[str, Any]:
        """See :class:`~beeline.world.Presentation`."""
        return {"accepted": True, "legal": verdict.feasible, "settled_value": verdict.objective}

    def _place(self, title: str) -> int:
        if title not in self.title_at:
            raise ToolError("no title has this id")
        return self.title_at[title]

    def _title(self, place: int) -> dict[str, Any]:
        title = self.instance.titles[place]
        values = dict((title.zero, title.one))
        return {
            "title_id": title.id,
            "lots": [{"lot_id": lot, "base_value": values[lot]} for lot in self.layout.lots[title.id]],
        }

    def _series(self, row: Series) -> dict[str, Any]:
        if self.interface is Interface.DIRECT:
            return {
                "encoding": "direct",
                "series_id": row.id,
                "member_positions": list(row.members),
                "adjustments": list(row.adjustments),
            }
        return {
            "encoding": "licensed",
            "series_id": row.id,
            "adjustments": list(row.adjustments),
            "license_id": self.layout.licenses[row.id],
            "license_member_positions": list(row.members),
        }

    def _page(self, start: int, length: int) -> dict[str, Any]:
        if self.pages.get(start) != length:
            raise ToolError(
                f"no page has this start and length: pages start at 0, {PAGE}, {2 * PAGE}... and hold {PAGE} "
                "series, the last one those that are left"
            )
        shown = self.instance.series[start : start + length]
        if self.interface is Interface.DIRECT:
            return {
                "encoding": "direct",
                "columns": ["series_id", "member_positions", "adjustments"],
                "rows": [[row.id, list(row.members), list(row.adjustments)] for row in shown],
            }
        return {
            "encoding": "licensed",
            "columns": ["series_id", "license_id", "license_member_positions", "adjustments"],
            "rows": [
                [row.id, self.layout.licenses[row.id], list(row.members), list(row.adjustments)]
                for row in shown
            ],
        }

    def _index(self, place: int) -> dict[str, Any]:
        title = self.instance.titles[place]
        return {
            "title_id": title.id,
            "lot_ids": [title.zero.id, title.one.id],
            "series_ids": sorted(row.id for row in self.instance.series if place in row.members),
        }
