"""Readable playthroughs: L1 instance 1 of each family, played by the oracle through both interfaces.

    python -m tests.domains.worlds.playthroughs            # rewrite playthroughs/*.txt
    python -m tests.domains.worlds.playthroughs FAMILY...  # some of them

A change of rules, wording, handles or order then shows as a difference of text. Of each tool the first
call of the plan is shown with its answer, long ones cut.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

from beeline.episode import EpisodeResult, Status, play
from beeline.world import Coordinate, Interface, World, compact
from beeline.world_agents import offline_agent
from beeline.world_certify import world_digest
from beeline.world_domain import WorldDomain
from beeline.world_score import arm_fields
from domains.worlds.families import UNCERTIFIED, family_class, family_names

FOLDER = Path(__file__).with_name("playthroughs")
MOST_SHOWN = 600
"""Characters of an answer."""


def shown(value: Any) -> str:
    text = compact(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}... ({len(text)} characters)"


def folded(text: str, first: str = "", rest: str = "  ") -> Iterator[str]:
    yield from wrap(
        text, 108, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, drop_whitespace=True
    ) or [""]


def told(text: str) -> Iterator[str]:
    """A prompt, a bar before each line."""
    for line in text.rstrip("\n").split("\n"):
        yield from (f"| {part}".rstrip() for part in folded(line, rest=""))


def play_family(name: str) -> Iterator[str]:
    """The lines of a playthrough."""
    domain: WorldDomain[Any] = family_class(name)("reference", UNCERTIFIED)
    private = domain.private("L1", 1)
    yield f"{domain.title} ({name}), L1 instance 1, edition 1"
    yield "Rewritten by: python -m tests.domains.worlds.playthroughs"
    yield ""
    yield from folded(domain.task)
    yield f"optimum {private.optimum}, reference {private.reference_objective}, sense {domain.sense}"
    work = private.solution.work
    assert work is not None
    yield f"work {work.total} = {work.states} states + {work.transitions} transitions + {work.checks} checks"
    yield f"  + {work.updates} updates + {work.reconstructions} reconstructions"
    yield f"facts {len(domain.facts(private.instance))}"
    previous: World | None = None
    for interface in Interface:
        world = domain.world(private.instance, Coordinate("L1", 1, interface))
        yield ""
        yield f"=== {world.id}"
        yield f"all that this world can tell: sha256 {world_digest(domain, private.instance, world)}"
        if previous is None or (previous.system, previous.user) != (world.system, world.user):
            yield ""
            yield from told(world.system)
            yield ""
            yield from told(world.user)
            yield ""
            for schema in world.schemas():
                yield from folded(compact(schema["function"]), "tool ")
        else:
            yield "texts and tools as above"
        yield from play_world(domain, private, world)
        previous = world


def play_world(domain: WorldDomain[Any], private: Any, world: World) -> Iterator[str]:
    for plan in domain.plans(private.instance, world.coordinate.interface):
        yield f"plan {plan.name}: {len(plan.calls)} calls, cost {world.cost_of(plan.calls)} of {world.budget}"
    result: EpisodeResult = play(world, offline_agent("oracle", domain, private, world))
    seen = set()
    for called in result.log:
        if called.tool in seen or called.status is not Status.EXECUTED:
            continue
        seen.add(called.tool)
        yield ""
        yield from folded(f"{called.tool} {compact(called.arguments)}", "> ")
        yield from folded(shown(called.result), "  ")
    yield ""
    yield from folded(f"{world.submit.name} {compact({world.decision_key: result.decision})}", "> ")
    yield from folded(shown(result.log[-1].result), "  ")
    for arm in ("oracle", "heuristic", "random"):
        played = play(world, offline_agent(arm, domain, private, world))
        fields = arm_fields(domain, private, world, played)
        yield from folded(f"{arm}: " + ", ".join(f"{key} {value}" for key, value in fields.items()))


def text_of(name: str) -> str:
    return "\n".join(play_family(name)) + "\n"


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.txt"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for family in sys.argv[1:] or family_names():
        path_of(family).write_text(text_of(family), encoding="utf-8")
        print(path_of(family))
