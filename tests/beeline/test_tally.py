"""The tally, which follows changes, against one that looks at the whole frontier each step."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from beeline.draws import Draws
from beeline.search import Limits, search
from beeline.space import UNREACHABLE, Space, explore
from beeline.tally import Judgement, Tally
from tests.beeline.graphs import Graph, spaces


def judged(space: Space, states: list[int], state: int) -> Judgement:
    """The rules of the tally, over all states of the frontier."""
    best = min(space.to_goal[s] for s in states)
    on = [space.to_goal[s] + space.from_start[s] == space.shortest_path for s in states]
    mine = space.to_goal[state]
    return Judgement(
        decision=best < UNREACHABLE,
        distance=mine if mine < UNREACHABLE else None,
        best=best if best < UNREACHABLE else None,
        contested=best < UNREACHABLE and len(set(on)) == 2,
        on_path=on[states.index(state)],
    )


@given(spaces(), st.integers(2, 6), st.integers(0, 1000))
def test_every_judgement_equals_one_over_the_whole_frontier(space: Space, width: int, seed: int) -> None:
    tally, choose = Tally(space), Draws("choose", seed)
    kept: list[Judgement] = []
    driven = search(space, Limits(40, width), Draws("evict", seed), lambda _: None, tally)
    try:
        frontier = next(driven)
        while True:
            before = tally.choices.as_dict()
            for state in frontier.states:
                assert tally.judge(state) == judged(space, frontier.states, state)
            assert tally.choices.as_dict() == before, "judging counts nothing"
            assert tally.size == len(frontier.states)
            index = choose.below(len(frontier.states))
            kept.append(judged(space, frontier.states, frontier.states[index]))
            tally.choose(frontier.states[index])
            driven.send(index)
    except StopIteration:
        pass
    made = [j for j in kept if j.decision]
    assert tally.choices.as_dict() == {
        "decisions": len(made),
        "optimal": sum(j.distance == j.best for j in made),
        "regret": sum(j.distance - j.best for j in made if j.distance is not None and j.best is not None),
        "dead_ends": sum(j.distance is None for j in made),
        "contested": sum(j.contested for j in made),
        "on_path": sum(j.contested and j.on_path for j in made),
    }


def test_a_dead_end_has_no_regret_and_a_hopeless_frontier_no_decision() -> None:
    space = explore(Graph([[1, 2, 3], [], [], [4], []]))
    dead, also_dead, good = space.successors(space.start)
    tally = Tally(space)
    for state in (dead, also_dead):
        tally.enter(state)
    tally.choose(dead)
    assert tally.choices.decisions == 0
    tally.enter(good)
    tally.choose(dead)
    tally.choose(good)
    assert tally.choices.as_dict() == {
        "decisions": 2,
        "optimal": 1,
        "regret": 0,
        "dead_ends": 1,
        "contested": 2,
        "on_path": 1,
    }


def test_a_forced_step_is_told_and_not_counted() -> None:
    space = explore(Graph([[1], [2], []]))
    tally, forced = Tally(space), []
    tally.on_forced = forced.append
    driven = search(space, Limits(9, 9), Draws("x"), lambda _: None, tally)
    assert next(driven, "ended") == "ended"
    assert forced == [0, 1, 2]
    assert set(tally.choices.as_dict().values()) == {0}
