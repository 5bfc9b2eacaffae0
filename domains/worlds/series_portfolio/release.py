"""Read a payload of the public AlgoWorlds release: the instance, and its desk in the payload's own orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from beeline.errors import DataError, DomainError
from beeline.world import Interface
from domains.worlds.series_portfolio.instance import Lot, Portfolio, Series, Title
from domains.worlds.series_portfolio.present import Layout, SeriesDesk

__all__ = ["of_release"]

_ENCODING = {Interface.DIRECT: "direct", Interface.MEDIATED: "licensed"}


def of_release(payload: Mapping[str, Any], interface: Interface) -> tuple[Portfolio, SeriesDesk]:
    """Instance and desk; DataError says what in the payload is malformed."""
    try:
        return _read(payload, interface)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"series_portfolio payload: a field is missing or of a wrong type ({error!r})"
        ) from error
    except DomainError as error:
        raise DataError(f"series_portfolio payload: {error}") from error


def _read(payload: Mapping[str, Any], interface: Interface) -> tuple[Portfolio, SeriesDesk]:
    documents = payload["source_documents"]
    told: dict[str, tuple[str, ...]] = {}
    titles: dict[str, Title] = {}
    for row in documents["titles"]:
        first, second = (Lot(lot["lot_id"], lot["base_value"]) for lot in row["lots"])
        told[row["title_id"]] = first.id, second.id
        titles[row["title_id"]] = Title(row["title_id"], *sorted((first, second)))
    order, series_order = documents["title_order"], documents["series_order"]
    if len(documents["titles"]) != len(order) or sorted(titles) != sorted(order):
        _refuse("title_order is no permutation of different titles")
    place = {lot: i for i, name in enumerate(order) for lot in told[name]}

    source = documents["series_source"]
    if source["encoding"] != _ENCODING[interface]:
        _refuse(f"its encoding is {source['encoding']!r}, not {_ENCODING[interface]!r}")
    rows = {row["series_id"]: row for row in source["series"]}
    if len(rows) != len(source["series"]) or sorted(rows) != sorted(series_order):
        _refuse("series_order is no permutation of different series")
    licenses: dict[str, str] = {}
    if interface is Interface.DIRECT:
        pairs = {name: [(zero, one) for zero, one in row["lot_pairs"]] for name, row in rows.items()}
    else:
        licenses = {name: row["license_id"] for name, row in rows.items()}
        pairs = _by_license(licenses, source["license_rows"])
    for name, lots in pairs.items():
        for zero, one in lots:
            if place[zero] != place[one] or zero > one:
                _refuse(f"a pair of lots of series {name} is not that of a title")
    instance = Portfolio(
        tuple(titles[name] for name in order),
        tuple(
            Series(
                name, tuple(sorted(place[zero] for zero, _ in pairs[name])), tuple(rows[name]["adjustments"])
            )
            for name in series_order
        ),
    )
    declared = payload["group_count"], payload["series_count"], payload["max_series_span"]
    if declared != (instance.size, len(instance.series), instance.span):
        _refuse("group_count, series_count or max_series_span is not that of the documents")
    if documents["declared_max_series_span"] != instance.span:
        _refuse("declared_max_series_span is not the largest span of a series")
    return instance, SeriesDesk(instance, interface, Layout(told, licenses))


def _by_license(licenses: dict[str, str], rows: list[Mapping[str, Any]]) -> dict[str, list[tuple[str, str]]]:
    """Pairs of lots of each series, joined by its license."""
    series_of = {license_id: series for series, license_id in licenses.items()}
    if len(series_of) != len(licenses):
        _refuse("two series have one license")
    pairs: dict[str, list[tuple[str, str]]] = {series: [] for series in licenses}
    for row in rows:
        if row["license_id"] not in series_of:
            _refuse(f"no series has the license {row['license_id']}")
        pairs[series_of[row["license_id"]]].append((row["zero_lot_id"], row["one_lot_id"]))
    return pairs


def _refuse(why: str) -> NoReturn:
    raise DataError(f"series_portfolio payload: {why}; fetch the file again")
