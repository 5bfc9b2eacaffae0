"""Read a payload of the public AlgoWorlds release: the instance, and its desk in the payload's own orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from beeline.errors import DataError, DomainError
from beeline.world import Interface
from domains.worlds.station_siting.instance import Demand, Siting, Zone
from domains.worlds.station_siting.present import Layout, SitingDesk

__all__ = ["of_release"]


def of_release(payload: Mapping[str, Any], interface: Interface) -> tuple[Siting, SitingDesk]:
    """Instance and desk; DataError says what in the payload is malformed."""
    try:
        return _read(payload, interface)
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"station_siting payload: a field is missing or of a wrong type ({error!r})"
        ) from error
    except DomainError as error:
        raise DataError(f"station_siting payload: {error}") from error


def _read(payload: Mapping[str, Any], interface: Interface) -> tuple[Siting, SitingDesk]:
    public, documents = payload["public"], payload["source_documents"]
    zones = _zones(documents["zone_order"], documents["site_rows"])
    at = {site: (i, option) for i, zone in enumerate(zones) for option, site in enumerate(zone.sites)}
    catalog = documents["coverage_catalog"]
    if catalog["encoding"] != interface.value:
        _refuse(f"its encoding is {catalog['encoding']!r}, not {interface.value!r}")
    connectors: dict[str, str] = {}
    if interface is Interface.DIRECT:
        required = {row["demand_id"]: tuple(row["required_sites"]) for row in catalog["demands"]}
    else:
        connectors = {row["demand_id"]: row["connector_id"] for row in catalog["demands"]}
        required = _by_connector(connectors, catalog["connector_site_rows"])
    if len(required) != len(catalog["demands"]) or sorted(documents["demand_order"]) != sorted(required):
        _refuse("demand_order is no permutation of different demands")
    demands = [_demand(row, required[row["demand_id"]], at) for row in catalog["demands"]]
    demands.sort(key=lambda demand: (demand.left, demand.right))
    instance = Siting(
        public["interaction_bandwidth"], public["max_extended_sites"], tuple(zones), tuple(demands)
    )
    if (public["facility_limit"], public["demand_count"]) != (len(zones), len(demands)):
        _refuse("facility_limit or demand_count is not that of the documents")
    stored = payload.get("objective_baseline_raw_value", instance.baseline)
    if stored != instance.baseline:
        _refuse(f"the economics-only layout is worth {instance.baseline}, not {stored!r}")
    layout = Layout(tuple(row["site_id"] for row in documents["site_rows"]), required, connectors)
    return instance, SitingDesk(instance, interface, layout)


def _zones(order: list[str], rows: list[Mapping[str, Any]]) -> list[Zone]:
    told = {(row["zone_id"], row["option"]): row for row in rows}
    if len(rows) != 2 * len(order) or set(told) != {(zone, option) for zone in order for option in (0, 1)}:
        _refuse("site_rows are not two for each zone")
    return [
        Zone(
            zone,
            (told[zone, 0]["site_id"], told[zone, 1]["site_id"]),
            (told[zone, 0]["operating_cost"], told[zone, 1]["operating_cost"]),
        )
        for zone in order
    ]


def _demand(row: Mapping[str, Any], sites: tuple[str, ...], at: Mapping[str, tuple[int, int]]) -> Demand:
    if len(sites) != 2 or not set(sites) <= set(at):
        _refuse(f"demand {row['demand_id']} does not require two known sites")
    (left, left_option), (right, right_option) = sorted(at[site] for site in sites)
    return Demand(row["demand_id"], left, right, left_option, right_option, row["reward"])


def _by_connector(connectors: Mapping[str, str], rows: list[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Sites of each demand, joined by its connector."""
    demand_of = {connector: demand for demand, connector in connectors.items()}
    if len(demand_of) != len(connectors):
        _refuse("two demands have one connector")
    required: dict[str, tuple[str, ...]] = {demand: () for demand in connectors}
    for row in rows:
        if row["connector_id"] not in demand_of:
            _refuse(f"no demand has the connector {row['connector_id']}")
        required[demand_of[row["connector_id"]]] += (row["site_id"],)
    return required


def _refuse(why: str) -> NoReturn:
    raise DataError(f"station_siting payload: {why}; fetch the file again")
