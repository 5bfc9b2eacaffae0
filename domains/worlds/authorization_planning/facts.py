"""Plans, facts and variants of authorization planning.

Facts: for each play its base cost with its stage, its residue and its adjustment (3nw); each handoff with its
cost (E); the residue rule (1). An adjustment takes the catalog and the policy together: the one tells the
code of a play, the other what the code costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from beeline.draws import Draws
from beeline.facts import Call, Executed, Fact, Facts, Insufficient, Plan
from domains.worlds.authorization_planning.instance import Authorization, Handoff, Play
from domains.worlds.windows import all_windows, covering_windows

__all__ = [
    "CHANNELS",
    "all_facts",
    "catalogue",
    "channel",
    "normalise",
    "plans",
    "public",
    "rebuild",
    "variant",
]

CHANNELS = {
    "catalog": frozenset({"read_catalog_stage", "read_catalog_window"}),
    "authorization": frozenset({"read_authorization_stage", "read_authorization_window"}),
    "policy": frozenset({"read_override_policy"}),
}
_CHANNEL_OF = {
    "base": "catalog",
    "residue": "catalog",
    "adjustment": "policy",
    "rule": "policy",
    "handoff": "authorization",
}


def public(instance: Authorization) -> dict[str, Any]:
    """What the prompt states: the stages in order and the numbers of plays and handoffs."""
    return {
        "stages": list(instance.stages),
        "plays_per_stage": instance.width,
        "handoffs_per_play": instance.degree,
    }


def plans(instance: Authorization) -> tuple[Plan, Plan]:
    """Catalog and authorization stage by stage, or both by windows; the policy. Equal in both interfaces."""
    covering = covering_windows(len(instance.stages))
    return (
        Plan("stages", (*_stages("catalog", instance), *_stages("authorization", instance), _POLICY)),
        Plan("windows", (*_windows("catalog", covering), *_windows("authorization", covering), _POLICY)),
    )


def catalogue(instance: Authorization) -> list[Call]:
    """Every distinct request that tells facts."""
    windows = all_windows(len(instance.stages))
    return [
        *_stages("catalog", instance),
        *_stages("authorization", instance),
        _POLICY,
        *_windows("catalog", windows),
        *_windows("authorization", windows),
    ]


def normalise(executed: Sequence[Executed]) -> Facts:
    """The facts that answered calls tell together."""
    facts: set[Fact] = set()
    codes: dict[str, str] = {}
    adjustments: dict[str, int] = {}
    for call in executed:
        told = call.response
        if call.tool == "read_override_policy":
            rule = told["checksum"]
            facts.add(("rule", rule["modulus"], rule["required_residue"]))
            adjustments.update(told["rows"])
        elif call.tool in CHANNELS["catalog"]:
            for stage in told["stages"]:
                for play, base, code, residue in stage["rows"]:
                    facts.add(("base", stage["stage_id"], play, base))
                    facts.add(("residue", play, residue))
                    codes[play] = code
        elif call.tool in CHANNELS["authorization"]:
            for stage in told["stages"]:
                facts.update(("handoff", stage["stage_id"], *row) for row in _joined(stage))
    facts.update(
        ("adjustment", play, adjustments[code]) for play, code in codes.items() if code in adjustments
    )
    return frozenset(facts)


def all_facts(instance: Authorization) -> Facts:
    """The facts of an instance."""
    facts: set[Fact] = {("rule", instance.modulus, instance.required)}
    before = [instance.source]
    for stage, plays, rows in zip(instance.stages, instance.plays, instance.handoffs, strict=True):
        for play in plays:
            facts.add(("base", stage, play.id, play.base))
            facts.add(("residue", play.id, play.residue))
            facts.add(("adjustment", play.id, play.adjustment))
        facts.update(("handoff", stage, before[u], plays[v].id, cost) for u, v, cost in rows)
        before = [play.id for play in plays]
    return frozenset(facts)


def channel(fact: Fact) -> str:
    """The channel of a fact."""
    return _CHANNEL_OF[fact[0]]


def rebuild(public: Mapping[str, Any], facts: Facts) -> Authorization:
    """The instance that the facts determine; raises Insufficient when one is missing. The prompt tells the
    stages in order and how many plays and handoffs they have."""
    rules = [fact for fact in facts if fact[0] == "rule"]
    if not rules:
        raise Insufficient("the policy was not read")
    residue = {fact[1]: fact[2] for fact in facts if fact[0] == "residue"}
    adjustment = {fact[1]: fact[2] for fact in facts if fact[0] == "adjustment"}
    plays: dict[str, list[Play]] = {stage: [] for stage in public["stages"]}
    steps: dict[str, list[tuple[str, str, int]]] = {stage: [] for stage in public["stages"]}
    for fact in facts:
        if fact[0] == "base":
            _, stage, play, base = fact
            if play not in adjustment or play not in residue:
                raise Insufficient(f"adjustment and residue of play {play} are not both known")
            plays[stage].append(Play(play, base, adjustment[play], residue[play]))
        elif fact[0] == "handoff":
            steps[fact[1]].append(fact[2:])
    width, degree = public["plays_per_stage"], public["handoffs_per_play"]
    handoffs: list[tuple[Handoff, ...]] = []
    source, before = "", {}
    for stage in public["stages"]:
        if len(plays[stage]) < width:
            raise Insufficient(f"the catalog of stage {stage} is not known")
        if len(steps[stage]) < (width * degree if handoffs else width):
            raise Insufficient(f"the handoffs into stage {stage} are not known")
        plays[stage].sort()
        place = {play.id: j for j, play in enumerate(plays[stage])}
        if not handoffs:
            source = steps[stage][0][0]
            before = {source: 0}
        handoffs.append(tuple(sorted(Handoff(before[u], place[v], cost) for u, v, cost in steps[stage])))
        before = place
    return Authorization(
        rules[0][1],
        rules[0][2],
        source,
        tuple(public["stages"]),
        tuple(tuple(made) for made in plays.values()),
        tuple(handoffs),
    )


def variant(instance: Authorization, channel: str, draws: Draws) -> Authorization:
    """The instance with the base costs or the adjustments of each stage shuffled among its plays, or the
    costs of the handoffs into each stage among these. What is legal stays so."""
    if channel == "authorization":
        stages = []
        for rows in instance.handoffs:
            costs = [row.cost for row in rows]
            draws.shuffle(costs)
            stages.append(tuple(row._replace(cost=cost) for row, cost in zip(rows, costs, strict=True)))
        return replace(instance, handoffs=tuple(stages))
    field = "base" if channel == "catalog" else "adjustment"
    changed = []
    for plays in instance.plays:
        values = [getattr(play, field) for play in plays]
        draws.shuffle(values)
        changed.append(tuple(play._replace(**{field: v}) for play, v in zip(plays, values, strict=True)))
    return replace(instance, plays=tuple(changed))


_POLICY = Call("read_override_policy", {})


def _stages(kind: str, instance: Authorization) -> list[Call]:
    return [Call(f"read_{kind}_stage", {"stage": stage}) for stage in instance.stages]


def _windows(kind: str, windows: Sequence[tuple[int, int]]) -> list[Call]:
    return [Call(f"read_{kind}_window", {"start": start, "length": length}) for start, length in windows]


def _joined(stage: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """(predecessor, successor, cost) of each handoff that a stage's rows tell."""
    if "rows" in stage:
        return [(before, after, cost) for before, after, cost in stage["rows"]]
    exits = {slot: (after, cost) for slot, after, cost in stage["authorization_exits"]}
    return [(before, *exits[slot]) for before, slot in stage["authorization_entries"] if slot in exits]
