"""Plans, facts and variants of station siting.

Facts: for each site its zone with its option, and its cost (4n); for each demand its two sites with its
reward (D). The order of the zones, the bandwidth and the limit of extended sites are in the prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from beeline.draws import Draws
from beeline.facts import Call, Executed, Fact, Facts, Insufficient, Plan
from domains.worlds.station_siting.instance import Demand, Siting, Zone
from domains.worlds.windows import all_windows, covering_windows

__all__ = ["CHANNELS", "all_facts", "catalogue", "channel", "normalise", "plans", "rebuild", "variant"]

CHANNELS = {
    "economics": frozenset({"read_zone", "read_zone_window"}),
    "demands": frozenset({"read_demand"}),
}
_CHANNEL_OF = {"site": "economics", "cost": "economics", "demand": "demands"}


def plans(instance: Siting) -> tuple[Plan, Plan]:
    """Zones one by one, or by windows; all demands in both. Equal in both interfaces."""
    windows = [_window(instance, *window) for window in covering_windows(len(instance.zones))]
    return (
        Plan("points", (*_zones(instance), *_demands(instance))),
        Plan("windows", (*windows, *_demands(instance))),
    )


def catalogue(instance: Siting) -> list[Call]:
    """Every distinct request that tells facts."""
    windows = [_window(instance, *window) for window in all_windows(len(instance.zones))]
    return [*_zones(instance), *_demands(instance), *windows]


def normalise(executed: Sequence[Executed]) -> Facts:
    """The facts that answered calls tell together."""
    facts: set[Fact] = set()
    for call in executed:
        told = call.response
        if call.tool in ("read_zone", "read_zone_window"):
            for row in told["rows" if call.tool == "read_zone" else "site_rows"]:
                facts.add(("site", row["site_id"], row["zone_id"], row["option"]))
                facts.add(("cost", row["site_id"], row["operating_cost"]))
        elif call.tool == "read_demand":
            sites = _joined(told)
            if len(sites) == 2:
                facts.add(("demand", told["demand"]["demand_id"], tuple(sites), told["demand"]["reward"]))
    return frozenset(facts)


def all_facts(instance: Siting) -> Facts:
    """The facts of an instance."""
    facts: set[Fact] = set()
    for zone in instance.zones:
        for option in (0, 1):
            facts.add(("site", zone.sites[option], zone.id, option))
            facts.add(("cost", zone.sites[option], zone.costs[option]))
    for demand in instance.demands:
        one = instance.zones[demand.left].sites[demand.left_option]
        two = instance.zones[demand.right].sites[demand.right_option]
        facts.add(("demand", demand.id, tuple(sorted((one, two))), demand.reward))
    return frozenset(facts)


def channel(fact: Fact) -> str:
    """The channel of a fact."""
    return _CHANNEL_OF[fact[0]]


def rebuild(public: Mapping[str, Any], facts: Facts) -> Siting:
    """The instance that the facts determine; raises Insufficient when one is missing."""
    costs = {fact[1]: fact[2] for fact in facts if fact[0] == "cost"}
    site_of = {(fact[2], fact[3]): fact[1] for fact in facts if fact[0] == "site"}
    place = {zone: i for i, zone in enumerate(public["zone_handles"])}
    zones = []
    for zone in place:
        basic, extended = site_of.get((zone, 0), ""), site_of.get((zone, 1), "")
        if basic not in costs or extended not in costs:
            raise Insufficient(f"the sites of zone {zone} are not known")
        zones.append(Zone(zone, (basic, extended), (costs[basic], costs[extended])))
    at = {site: (place[zone], option) for (zone, option), site in site_of.items()}
    told = {fact[1]: fact for fact in facts if fact[0] == "demand"}
    demands = []
    for name in public["demand_handles"]:
        if name not in told:
            raise Insufficient(f"the sites and the reward of demand {name} are not known")
        (left, left_option), (right, right_option) = sorted(at[site] for site in told[name][2])
        demands.append(Demand(name, left, right, left_option, right_option, told[name][3]))
    demands.sort(key=lambda demand: (demand.left, demand.right))
    return Siting(public["interaction_bandwidth"], public["max_extended_sites"], tuple(zones), tuple(demands))


def variant(instance: Siting, channel: str, draws: Draws) -> Siting:
    """The instance with the rewards shuffled among the demands, or the costs among the sites of each
    option."""
    if channel == "demands":
        rewards = [demand.reward for demand in instance.demands]
        draws.shuffle(rewards)
        changed = zip(instance.demands, rewards, strict=True)
        return replace(instance, demands=tuple(demand._replace(reward=reward) for demand, reward in changed))
    columns = [[zone.costs[option] for zone in instance.zones] for option in (0, 1)]
    for column in columns:
        draws.shuffle(column)
    zones = zip(instance.zones, *columns, strict=True)
    return replace(instance, zones=tuple(zone._replace(costs=(zero, one)) for zone, zero, one in zones))


def _zones(instance: Siting) -> list[Call]:
    return [Call("read_zone", {"zone": zone.id}) for zone in instance.zones]


def _demands(instance: Siting) -> list[Call]:
    return [Call("read_demand", {"demand": demand.id}) for demand in instance.demands]


def _window(instance: Siting, start: int, length: int) -> Call:
    return Call("read_zone_window", {"start": instance.zones[start].id, "length": length})


def _joined(told: Mapping[str, Any]) -> list[str]:
    """The sites of a ``read_demand`` response, sorted."""
    if told["encoding"] == "direct":
        return sorted(told["demand"]["required_sites"])
    connector = told["demand"]["connector_id"]
    return sorted(row["site_id"] for row in told["connector_site_rows"] if row["connector_id"] == connector)
