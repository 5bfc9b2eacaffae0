"""Certification: everything that is demanded of a hidden instance and its two worlds, and the manifest
entry that freezes them.

An instance is the first attempt that the construction solver accepts; here the verification solver must
agree, the checker must value both decisions as stored, both plans must tell the same facts in both
interfaces, the instance rebuilt from those facts must solve to the same decision, every plan must fit
the budget and the call cap with its evaluation, and the full catalogue must not fit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from beeline.digest import digest_of
from beeline.episode import EpisodeLimits
from beeline.errors import DomainError
from beeline.facts import facts_digest
from beeline.world import INDEXES, LEVELS, Coordinate, Interface, World
from beeline.world_domain import WorldDomain
from beeline.world_solution import Private

__all__ = ["MANIFEST_SCHEMA", "Certified", "certify", "make_manifest", "world_digest"]

MANIFEST_SCHEMA = "beeline_worlds_manifest/1"


@dataclass(frozen=True, slots=True)
class Certified:
    """A hidden instance that met every demand."""

    entry: dict[str, Any]
    """Its entry in the manifest."""
    solve_s: float
    """Seconds of the construction solver."""
    verify_s: float
    """Seconds of the verification solver."""


def world_digest(domain: WorldDomain[Any], instance: Any, world: World) -> str:
    """SHA-256 of all that a world can tell: texts, schemas, costs, budget and the response to every
    request of the catalogue."""
    desk = world.presentation
    return digest_of(
        {
            "system": world.system,
            "user": world.user,
            "tools": world.schemas(),
            "costs": dict(world.costs),
            "budget": world.budget,
            "responses": [
                [call.tool, dict(call.arguments), desk.answer(call.tool, call.arguments)]
                for call in domain.catalogue(instance, world.coordinate.interface)
            ],
        }
    )


def certify(domain: WorldDomain[Any], level: str, index: int) -> Certified:
    """Certify a hidden instance. Raises DomainError naming the demand that fails."""
    private: Private[Any] = next(made for *_, made in domain.attempts(level, index) if made is not None)
    instance, solution = private.instance, private.solution

    def demand(met: bool, what: str) -> None:
        if not met:
            raise DomainError(f"{domain.name} {level} instance {index}: {what}")

    started = time.perf_counter()
    demand(solution.agrees(domain.verify(instance)), "the two solvers disagree")
    verified = time.perf_counter()
    demand(domain.check(instance, solution.decision).objective == private.optimum, "the checker disagrees")
    demand(digest_of(domain.to_json(domain.from_json(domain.to_json(instance)))) == private.latent, "JSON")
    facts, public = domain.facts(instance), domain.public(instance)
    rebuilt = domain.rebuild(public, facts)
    resumed = time.perf_counter()
    again = domain.solve(rebuilt)
    solved = time.perf_counter()
    demand(solution.agrees(again), "the instance rebuilt from its facts has another optimum")
    worlds = {}
    for interface in Interface:
        world = domain.world(instance, Coordinate(level, index, interface))
        worlds[interface.value] = _certify_world(domain, private, world, demand)
    budgets = {entry["budget"] for entry in worlds.values()}
    demand(len(budgets) == 1, "the budgets of the pair differ")
    assert solution.work is not None
    entry = {
        "attempt": private.attempt,
        "latent": private.latent,
        "optimum": private.optimum,
        "reference": private.reference_objective,
        "decision": digest_of(solution.decision),
        "reference_decision": digest_of(private.reference),
        "work": {**asdict(solution.work), "total": solution.work.total},
        "facts": len(facts),
        "facts_digest": facts_digest(facts),
        "worlds": worlds,
    }
    return Certified(entry, solved - resumed, verified - started)


def _certify_world(
    domain: WorldDomain[Any], private: Private[Any], world: World, demand: Callable[[bool, str], None]
) -> dict[str, Any]:
    instance, interface = private.instance, world.coordinate.interface
    facts = domain.facts(instance)
    evaluation = world.costs[world.evaluator.name]
    plans = []
    for plan in domain.plans(instance, interface):
        told = domain.follow(instance, interface, plan.calls)
        demand(told == facts, f"plan {plan.name} ({interface.value}) does not tell exactly the facts")
        cost = world.cost_of(plan.calls)
        demand(cost + evaluation <= world.budget, f"plan {plan.name} and an evaluation exceed the budget")
        demand(len(plan.calls) < EpisodeLimits().max_calls, f"plan {plan.name} exceeds the call cap")
        plans.append({"name": plan.name, "calls": len(plan.calls), "cost": cost})
    demand(len({domain.channel(fact) for fact in facts}) > 1, "facts of one channel only")
    catalogue = domain.catalogue(instance, interface)
    full = world.cost_of(catalogue)
    demand(full > world.budget, "the full catalogue fits the budget")
    return {
        "digest": world_digest(domain, instance, world),
        "budget": world.budget,
        "plans": plans,
        "catalogue": {"calls": len(catalogue), "cost": full},
    }


def make_manifest(domain: WorldDomain[Any], entries: dict[str, Any]) -> dict[str, Any]:
    """The manifest of a family from the entries of its 12 hidden instances, keyed ``L1/1``."""
    return {
        "schema": MANIFEST_SCHEMA,
        "family": domain.name,
        "edition": domain.parameters.edition,
        "instances": {
            f"{level}/{index}": entries[f"{level}/{index}"] for level in LEVELS for index in INDEXES
        },
    }
