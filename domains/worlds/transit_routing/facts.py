"""Plans, facts and variants of transit routing.

Facts: the rule (1: stations and lines in order, modulus, residue); for each leg its time with its
stage, its residue and its line (3dk); each row of transfer costs (p), which means nothing until the
survey has told the order of its columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from beeline.draws import Draws
from beeline.facts import Call, Executed, Fact, Facts, Insufficient, Plan
from domains.worlds.transit_routing.instance import Leg, Transit
from domains.worlds.windows import all_windows, covering_windows

__all__ = ["CHANNELS", "all_facts", "catalogue", "channel", "normalise", "plans", "rebuild", "variant"]

CHANNELS = {
    "route": frozenset({"survey_route", "read_departures", "read_station_window"}),
    "membership": frozenset({"read_stage_memberships"}),
    "transfer": frozenset({"read_transfer_costs"}),
}
_CHANNEL_OF = {
    "rule": "route",
    "time": "route",
    "residue": "route",
    "line": "membership",
    "transfers": "transfer",
}


def plans(instance: Transit) -> tuple[Plan, Plan]:
    """Point reads, and departures by windows; equal in both interfaces."""
    rest = [*_memberships(instance), *_transfers(instance)]
    windows = [_window(instance, *w) for w in covering_windows(len(instance.legs))]
    return (
        Plan("points", (_SURVEY, *_departures(instance), *rest)),
        Plan("windows", (_SURVEY, *windows, *rest)),
    )


def catalogue(instance: Transit) -> list[Call]:
    """Every distinct request that tells facts."""
    windows = [_window(instance, *w) for w in all_windows(len(instance.legs))]
    return [
        _SURVEY,
        *_departures(instance),
        *_memberships(instance),
        *_transfers(instance),
        *windows,
    ]


def normalise(executed: Sequence[Executed]) -> Facts:
    """The facts that answered calls tell together."""
    facts: set[Fact] = set()
    surveyed = False
    rows: list[Fact] = []
    for call in executed:
        told = call.response
        if call.tool == "survey_route":
            surveyed = True
            facts.add(
                (
                    "rule",
                    told["checksum_modulus"],
                    told["required_ticket_residue"],
                    tuple(told["ordered_stations"]),
                    tuple(told["line_ids"]),
                )
            )
        elif call.tool == "read_departures":
            facts.update(_departure_facts(told["station_id"], told["departures"]))
        elif call.tool == "read_station_window":
            for stage in told["stages"]:
                facts.update(_departure_facts(stage["from_station"], stage["departures"]))
        elif call.tool == "read_stage_memberships":
            facts.update(("line", leg, line) for leg, line in _joined(told))
        elif call.tool == "read_transfer_costs":
            rows.append(("transfers", told["from_line_id"], tuple(told["costs"])))
    return frozenset(facts | set(rows) if surveyed else facts)


def all_facts(instance: Transit) -> Facts:
    """The facts of an instance."""
    facts: set[Fact] = {("rule", instance.modulus, instance.required, instance.stations, instance.lines)}
    for station, stage in zip(instance.stations, instance.legs, strict=False):
        for leg in stage:
            facts.add(("time", station, leg.id, leg.time))
            facts.add(("residue", leg.id, leg.residue))
            facts.add(("line", leg.id, instance.lines[leg.line]))
    facts.update(
        ("transfers", line, row) for line, row in zip(instance.lines, instance.transfers, strict=True)
    )
    return frozenset(facts)


def channel(fact: Fact) -> str:
    """The channel of a fact."""
    return _CHANNEL_OF[fact[0]]


def rebuild(facts: Facts) -> Transit:
    """The instance that the facts determine; raises Insufficient when one is missing."""
    rules = [fact for fact in facts if fact[0] == "rule"]
    if not rules:
        raise Insufficient("the survey was not read")
    _, modulus, required, stations, lines = rules[0]
    place = {line: a for a, line in enumerate(lines)}
    residue = {fact[1]: fact[2] for fact in facts if fact[0] == "residue"}
    line_of = {fact[1]: fact[2] for fact in facts if fact[0] == "line"}
    rows = {fact[1]: fact[2] for fact in facts if fact[0] == "transfers"}
    at: dict[str, list[Leg]] = {station: [] for station in stations[:-1]}
    for fact in facts:
        if fact[0] == "time":
            _, station, leg, time = fact
            if leg not in line_of:
                raise Insufficient(f"the line of leg {leg} is not known")
            at[station].append(Leg(leg, time, residue[leg], place[line_of[leg]]))
    for station, legs in at.items():
        if not legs:
            raise Insufficient(f"the departures of station {station} are not known")
    for line in lines:
        if line not in rows:
            raise Insufficient(f"the costs of changing from line {line} are not known")
    return Transit(
        modulus,
        required,
        stations,
        lines,
        tuple(tuple(sorted(legs)) for legs in at.values()),
        tuple(rows[line] for line in lines),
    )


def variant(instance: Transit, channel: str, draws: Draws) -> Transit:
    """The instance with the facts of one channel drawn anew among themselves: the times of a stage, the
    lines of a stage, or the costs into a line are shuffled, in every stage or line."""
    if channel == "transfer":
        p = len(instance.lines)
        into = []
        for target in range(p):
            column = [row[target] for a, row in enumerate(instance.transfers) if a != target]
            draws.shuffle(column)
            column.insert(target, 0)
            into.append(column)
        return replace(instance, transfers=tuple(tuple(into[b][a] for b in range(p)) for a in range(p)))
    stages = []
    for stage in instance.legs:
        times, lines = [leg.time for leg in stage], [leg.line for leg in stage]
        draws.shuffle(times if channel == "route" else lines)
        stages.append(
            tuple(
                leg._replace(time=time, line=line)
                for leg, time, line in zip(stage, times, lines, strict=True)
            )
        )
    return replace(instance, legs=tuple(stages))


_SURVEY = Call("survey_route", {})


def _departures(instance: Transit) -> list[Call]:
    return [Call("read_departures", {"station_id": s}) for s in instance.stations[:-1]]


def _memberships(instance: Transit) -> list[Call]:
    return [Call("read_stage_memberships", {"station_id": s}) for s in instance.stations[:-1]]


def _transfers(instance: Transit) -> list[Call]:
    return [Call("read_transfer_costs", {"line_id": line}) for line in instance.lines]


def _window(instance: Transit, start: int, span: int) -> Call:
    return Call("read_station_window", {"start_station_id": instance.stations[start], "span": span})


def _departure_facts(station: str, departures: Sequence[Sequence[Any]]) -> list[Fact]:
    facts: list[Fact] = []
    for leg, time, residue in departures:
        facts += [("time", station, leg, time), ("residue", leg, residue)]
    return facts


def _joined(told: Mapping[str, Any]) -> list[tuple[str, str]]:
    if told["representation"] == "direct_leg_line":
        return [(leg, line) for leg, line in told["rows"]]
    lines = dict(told["platform_line_rows"])
    return [(leg, lines[slot]) for leg, slot in told["leg_platform_rows"] if slot in lines]
