"""Plans, facts and variants of series portfolio.

Facts: for each lot its title and its value (4n), and each series with its members and all its adjustments
(F). The index of a title only names what reading the title and the pages tells whole, so it counts for
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from beeline.draws import Draws
from beeline.facts import Call, Executed, Fact, Facts, Insufficient, Plan
from domains.worlds.series_portfolio.instance import Lot, Portfolio, Series, Title
from domains.worlds.series_portfolio.present import pages
from domains.worlds.windows import all_windows, covering_windows

__all__ = [
    "CHANNELS",
    "all_facts",
    "catalogue",
    "channel",
    "directory",
    "normalise",
    "plans",
    "rebuild",
    "variant",
]

CHANNELS = {
    "titles": frozenset({"read_title", "read_catalog_window", "read_title_index"}),
    "series": frozenset({"read_series", "read_series_page", "read_title_index"}),
}
_CHANNEL_OF = {"lot": "titles", "value": "titles", "series": "series"}


def plans(instance: Portfolio) -> tuple[Plan, Plan]:
    """Titles one by one or by windows; series by pages in both. Equal in both interfaces."""
    series = _pages(instance)
    windows = [_window(*window) for window in covering_windows(instance.size)]
    return Plan("titles", (*_titles(instance), *series)), Plan("windows", (*windows, *series))


def catalogue(instance: Portfolio) -> list[Call]:
    """Every distinct request that tells facts."""
    singly = [Call("read_series", {"series": row.id}) for row in instance.series]
    windows = [_window(*window) for window in all_windows(instance.size)]
    return [*_titles(instance), *singly, *_pages(instance), *windows]


def directory(instance: Portfolio) -> list[Call]:
    """Every request that only names things."""
    return [Call("read_title_index", {"title": title.id}) for title in instance.titles]


def normalise(executed: Sequence[Executed]) -> Facts:
    """The facts that answered calls tell together."""
    facts: set[Fact] = set()
    for call in executed:
        told = call.response
        if call.tool == "read_title":
            facts.update(_title_facts(told))
        elif call.tool == "read_catalog_window":
            for title in told["titles"]:
                facts.update(_title_facts(title))
        elif call.tool == "read_series":
            facts.add(_series_fact(told))
        elif call.tool == "read_series_page":
            facts.update(_series_fact(dict(zip(told["columns"], row, strict=True))) for row in told["rows"])
    return frozenset(facts)


def all_facts(instance: Portfolio) -> Facts:
    """The facts of an instance."""
    facts: set[Fact] = {("series", row.id, row.members, row.adjustments) for row in instance.series}
    for title in instance.titles:
        for lot in (title.zero, title.one):
            facts |= {("lot", lot.id, title.id), ("value", lot.id, lot.value)}
    return frozenset(facts)


def channel(fact: Fact) -> str:
    """The channel of a fact."""
    return _CHANNEL_OF[fact[0]]


def rebuild(public: Mapping[str, Any], facts: Facts) -> Portfolio:
    """The instance that the facts determine; raises Insufficient when one is missing. The prompt tells
    the order of titles and series."""
    values = {fact[1]: fact[2] for fact in facts if fact[0] == "value"}
    known = {fact[1]: Series(*fact[1:]) for fact in facts if fact[0] == "series"}
    lots: dict[str, list[Lot]] = {title: [] for title in public["titles"]}
    for fact in facts:
        if fact[0] == "lot" and fact[1] in values:
            lots[fact[2]].append(Lot(fact[1], values[fact[1]]))
    for title, held in lots.items():
        if len(held) != 2:
            raise Insufficient(f"the lots of title {title} are not known")
    for series in public["series"]:
        if series not in known:
            raise Insufficient(f"series {series} is not known")
    return Portfolio(
        tuple(Title(title, *sorted(held)) for title, held in lots.items()),
        tuple(known[series] for series in public["series"]),
    )


def variant(instance: Portfolio, channel: str, draws: Draws) -> Portfolio:
    """The instance with the values of all lots shuffled among them, or with the tables of the series
    shuffled among those of as many members. Members stay."""
    if channel == "titles":
        values = [lot.value for title in instance.titles for lot in (title.zero, title.one)]
        draws.shuffle(values)
        titles = [
            Title(title.id, title.zero._replace(value=zero), title.one._replace(value=one))
            for title, zero, one in zip(instance.titles, values[::2], values[1::2], strict=True)
        ]
        return replace(instance, titles=tuple(titles))
    tables: dict[int, list[tuple[int, ...]]] = {2: [], 3: []}
    for row in instance.series:
        tables[len(row.members)].append(row.adjustments)
    for several in tables.values():
        draws.shuffle(several)
    series = [row._replace(adjustments=tables[len(row.members)].pop()) for row in instance.series]
    return replace(instance, series=tuple(series))


def _titles(instance: Portfolio) -> list[Call]:
    return [Call("read_title", {"title": title.id}) for title in instance.titles]


def _pages(instance: Portfolio) -> list[Call]:
    return [
        Call("read_series_page", {"start": start, "length": length})
        for start, length in pages(len(instance.series))
    ]


def _window(start: int, length: int) -> Call:
    return Call("read_catalog_window", {"start": start, "length": length})


def _title_facts(told: Mapping[str, Any]) -> list[Fact]:
    facts: list[Fact] = []
    for lot in told["lots"]:
        facts += [("lot", lot["lot_id"], told["title_id"]), ("value", lot["lot_id"], lot["base_value"])]
    return facts


def _series_fact(told: Mapping[str, Any]) -> Fact:
    """The fact of a ``read_series`` response, or of a row of a page by its columns."""
    key = "license_member_positions" if "license_id" in told else "member_positions"
    return "series", told["series_id"], tuple(told[key]), tuple(told["adjustments"])
