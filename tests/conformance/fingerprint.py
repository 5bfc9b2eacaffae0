"""Print one digest a domain over everything that two trials of it show.

    python -m tests.conformance.fingerprint DOMAIN...

Run in processes with different hash seeds, the lines must be equal.
"""

from __future__ import annotations

import sys
from typing import Any

from beeline.digest import digest_of
from beeline.draws import Draws
from beeline.search import search
from beeline.space import Space
from tests.domains_found import all_arms, definition, instance_of, make

TRIALS = (1, 2)
FRONTIERS = 30


def first_frontiers(space: Space, name: str, trial: int) -> list[list[str]]:
    """The option texts of the first unforced steps of a search that chooses at random."""
    draws = Draws(name, trial, "fingerprint")
    steps = search(space, definition().limits, draws, space.text)
    frontiers: list[list[str]] = []
    try:
        frontier = next(steps)
        while len(frontiers) < FRONTIERS:
            frontiers.append(list(frontier.keys))
            steps.send(draws.below(len(frontier.states)))
    except StopIteration:
        pass
    return frontiers


def everything(name: str, trial: int) -> dict[str, Any]:
    domain = make(name)
    instance = instance_of(domain, trial)
    space = domain.space(trial, instance)
    return {
        "instance": instance,
        "objective": space.objective,
        "context": space.context,
        "start": space.text(space.start),
        "sizes": [space.states_reachable, space.states_reaching_goal, space.shortest_path],
        "to_goal": list(space.to_goal),
        "from_start": list(space.from_start),
        "frontiers": first_frontiers(space, name, trial),
        "arms": all_arms(space, domain, trial, definition().limits),
    }


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, digest_of([everything(name, trial) for trial in TRIALS]))
