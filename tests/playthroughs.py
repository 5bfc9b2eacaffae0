"""Readable playthroughs: trial 1 of each domain, played by the oracle.

    python -m tests.playthroughs            # rewrite tests/playthroughs/*.txt
    python -m tests.playthroughs DOMAIN...  # some of them

A change of rules, wording or order then shows as a difference of text. The moves follow the
true distances, the first of equal ones. Wikispeedia's articles may not be redistributed, so its
file shows digests in place of its texts: equal digests, equal texts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from textwrap import wrap

from beeline.space import UNREACHABLE, Space
from tests.domains_found import VERSION, definition, instance_of, make, targets
from tests.shared import ROOT

FOLDER = ROOT / "tests" / "playthroughs"
TRIAL = 1
MOST_SHOWN = 24
"""Successors printed a state; the rest is counted."""

NOT_OURS_TO_SHOW = ("wikispeedia",)


def digest(text: str) -> str:
    """Stands for a text that may not be shown."""
    return f"[{len(text)} characters, sha256 {sha256(text.encode()).hexdigest()[:12]}]"


def as_it_is(text: str) -> str:
    return text


def away(distance: int) -> str:
    return "no way to the goal" if distance == UNREACHABLE else f"{distance} to go"


def paragraph(label: str, text: str) -> Iterator[str]:
    yield from wrap(f"{label}: {text}", 100, subsequent_indent="  ", break_long_words=False)


def play(name: str) -> Iterator[str]:
    """The lines of a playthrough."""
    domain = make(name)
    instance = instance_of(domain, TRIAL)
    problem = domain.build(TRIAL, instance)
    space = domain.space(TRIAL, instance)
    shown: Callable[[str], str] = digest if name in NOT_OURS_TO_SHOW else as_it_is
    parameters = ", ".join(f"{k} = {v}" for k, v in definition().domain(name).parameters.items())

    yield f"{domain.title} ({name}), version {VERSION}, trial {TRIAL}; {parameters}"
    yield "Rewritten by: python -m tests.playthroughs"
    yield ""
    yield from paragraph("task", domain.task)
    yield from paragraph("goal", shown(space.objective))
    yield from paragraph("context", shown(space.context))
    yield ""
    yield f"states reachable: {space.states_reachable}, of them reaching a goal: {space.states_reaching_goal}"
    yield f"shortest path: {space.shortest_path}"
    yield f"heuristic: {domain.heuristic}"

    state, step = space.start, 0
    while True:
        yield ""
        yield f"step {step}: {shown(space.text(state))}"
        value = problem.heuristic(space.state(state))
        yield f"  {away(space.to_goal[state])}, {space.from_start[state]} from the start, heuristic {value}"
        if space.is_goal(state):
            yield "  goal"
            return
        row = list(space.successors(state))
        best = row.index(min(row, key=space.to_goal.__getitem__))
        yield from (
            f"  {'>' if place == best else ' '} {shown(space.text(following))}"
            f"   ({away(space.to_goal[following])}, heuristic {problem.heuristic(space.state(following))})"
            for place, following in enumerate(row)
            if place < MOST_SHOWN or place == best
        )
        hidden = len(row) - MOST_SHOWN - (best >= MOST_SHOWN)
        if hidden > 0:
            yield f"    and {hidden} more; all {len(row)} together: {digest(all_texts(space, row))}"
        state, step = row[best], step + 1


def all_texts(space: Space, row: list[int]) -> str:
    return "\n".join(map(space.text, row))


def text_of(name: str) -> str:
    return "\n".join(play(name)) + "\n"


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.txt"


if __name__ == "__main__":
    os.environ.setdefault("BEELINE_DATA_MIRROR", str(ROOT.parent / "shared" / "data"))
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or targets():
        path_of(name).write_text(text_of(name), encoding="utf-8")
        print(path_of(name).relative_to(ROOT))
