"""blocksworld: exact counts, rules read off STRIPS, the heuristic against its definition."""

from __future__ import annotations

import math
import subprocess
import sys
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beeline.draws import Draws
from beeline.errors import SettingError
from beeline.space import explore
from domains.navigation.blocksworld import Blocksworld, BlocksworldProblem, Facts, actions, placed
from domains.navigation.blocksworld_kernel import _facts, blocksworld_space, graph, relaxed_plan_size
from domains.navigation.strips import Action, h_ff
from tests.shared import ROOT


@pytest.mark.parametrize(("blocks", "states"), [(2, 5), (3, 22), (4, 125), (5, 866), (6, 7057), (7, 65_990)])
def test_exact_number_of_states(blocks: int, states: int) -> None:
    assert graph(blocks).size == states
    assert len(set(map(graph(blocks).row, range(states)))) == states


@pytest.mark.parametrize("blocks", [2, 3, 4])
def test_a_plain_search_finds_the_same_number_of_states(blocks: int) -> None:
    domain = Blocksworld("h_ff", {"blocks": blocks})
    assert explore(domain.problem(1)).states_reachable == graph(blocks).size


def test_eight_blocks_fit_in_400_mib() -> None:
    program = (
        "import pathlib, resource\n"
        "from beeline.draws import Draws\n"
        "from domains.navigation.blocksworld import Blocksworld\n"
        "domain = Blocksworld('h_ff', {'blocks': 8})\n"
        "space = domain.space(1, domain.draw(1, Draws('blocksworld', 1)))\n"
        "assert space.states_reachable == len(space.to_goal) == 695_417\n"
        "assert space.to_goal[space.start] == space.shortest_path > 0\n"
        # Linux hands the peak of the process that started this one to getrusage.
        "status = pathlib.Path('/proc/self/status')\n"
        "lines = status.read_text().splitlines() if status.exists() else []\n"
        "peak = next((line.split()[1] for line in lines if line.startswith('VmHWM')), None)\n"
        "print(peak or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    kibibytes = int(done.stdout) // (1024 if sys.platform == "darwin" else 1)
    assert kibibytes < 400 * 1024


def test_action_order_and_effects() -> None:
    names = [action.name for action in actions(2)]
    assert names == [
        "(pick-up b1)",
        "(put-down b1)",
        "(stack b1 b2)",
        "(unstack b1 b2)",
        "(pick-up b2)",
        "(put-down b2)",
        "(stack b2 b1)",
        "(unstack b2 b1)",
    ]
    assert len(actions(7)) == 98
    assert len({action.name for action in actions(7)}) == 98
    problem = BlocksworldProblem([["b1", "b2"], ["b3"]], [["b1"], ["b2"], ["b3"]])
    assert problem.start == (
        "(clear b2)",
        "(clear b3)",
        "(handempty)",
        "(on b2 b1)",
        "(ontable b1)",
        "(ontable b3)",
    )
    lifted, other = problem.successors(problem.start)
    assert lifted == ("(clear b1)", "(clear b3)", "(holding b2)", "(ontable b1)", "(ontable b3)")
    assert other == ("(clear b2)", "(holding b3)", "(on b2 b1)", "(ontable b1)")
    assert problem.successors(lifted) == [
        (
            "(clear b1)",
            "(clear b2)",
            "(clear b3)",
            "(handempty)",
            "(ontable b1)",
            "(ontable b2)",
            "(ontable b3)",
        ),
        problem.start,
        ("(clear b1)", "(clear b2)", "(handempty)", "(on b2 b3)", "(ontable b1)", "(ontable b3)"),
    ]
    assert not problem.is_goal(lifted)
    assert problem.is_goal(problem.successors(lifted)[0])


def test_goal_shows_the_notation_of_the_options() -> None:
    problem = BlocksworldProblem([["b1"], ["b2"]], [["b1", "b2"]])
    assert problem.objective.endswith(": (on b2 b1) (ontable b1)")
    assert problem.goal == placed([["b1", "b2"]])


# --- the heuristic -----------------------------------------------------------------------------


def action(name: str, needs: str, adds: str) -> Action:
    return Action(name, frozenset(needs), tuple(adds), frozenset())


def test_h_ff_counts_a_shared_action_once() -> None:
    # Both goals need x, which one action gives.
    ways = [action("x", "a", "x"), action("p", "x", "p"), action("q", "x", "q")]
    assert h_ff("a", "pq", ways) == 3


def test_h_ff_takes_the_cheaper_achiever_although_it_is_ready_later() -> None:
    # By h_add, dear costs 1 + 1 + 1 = 3 and cheap 1 + 1 = 2.
    ways = [action(n, "a", n) for n in "xyz"]
    assert h_ff("a", "g", [*ways, action("dear", "xy", "g"), action("cheap", "z", "g")]) == 2


def test_h_ff_breaks_ties_by_settling_order_then_action_order() -> None:
    # Two ways to g at the same cost 3, of 2 and 3 actions: x + y (1 each) or twice x (2 deep).
    ways = [action("x", "a", "x"), action("y", "a", "y"), action("w", "x", "w")]
    flat, deep = action("flat", "xy", "g"), action("deep", "w", "g")
    # Facts of cost 1 settle before w of cost 2, so flat is ready first whatever the order.
    assert h_ff("a", "g", [*ways, deep, flat]) == 3
    assert h_ff("a", "gw", [*ways, deep, flat]) == 4  # w comes on top, which deep would have shared
    # Ready at the same fact: the order of the actions decides, and p costs one action more.
    one, two = action("one", "x", "g"), action("two", "x", "gh")
    assert h_ff("a", "gh", [*ways, one, two]) == 3
    assert h_ff("a", "gh", [*ways, two, one]) == 2
    # Ready at different facts of one cost: the text of the facts decides.
    late, early = action("late", "y", "gh"), action("early", "x", "g")
    assert h_ff("a", "gh", [*ways, late, early]) == 4


def test_h_ff_of_goals_held_and_out_of_reach() -> None:
    assert h_ff("ab", "ab", []) == 0
    assert h_ff("a", "", [action("x", "a", "x")]) == 0
    assert h_ff("a", "z", [action("x", "a", "x")]) == math.inf


@cache
def goal_facts(blocks: int, goal: int) -> Facts:
    return tuple(fact for fact in _facts(graph(blocks).row(goal)) if fact.startswith("(on"))


def both(blocks: int, goal: int, state: int) -> tuple[float, float]:
    moves = graph(blocks)
    closed = relaxed_plan_size(blocks, moves.row(goal))(moves.row(state))
    plain = h_ff(_facts(moves.row(state)), goal_facts(blocks, goal), actions(blocks))
    return closed, plain


@pytest.mark.parametrize("blocks", [2, 3, 4])
def test_closed_form_equals_h_ff_for_every_state_and_goal(blocks: int) -> None:
    moves = graph(blocks)
    for goal in range(len(moves.keys)):
        for state in range(moves.size):
            closed, plain = both(blocks, goal, state)
            assert closed == plain, (moves.row(goal), moves.row(state))
            assert (plain == 0) == (state == goal)


@pytest.mark.parametrize("blocks", [5, 6, 7, 8])
def test_closed_form_equals_h_ff_on_random_states(blocks: int) -> None:
    draws = Draws("test", "h_ff", blocks)
    moves = graph(blocks)
    values = []
    for _ in range(400):
        closed, plain = both(blocks, draws.below(len(moves.keys)), draws.below(moves.size))
        assert closed == plain
        values.append(closed)
    assert len(set(values)) > blocks


# --- the kernel --------------------------------------------------------------------------------


@given(st.integers(2, 5), st.integers(1, 10_000))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_towers_are_found_by_number(blocks: int, trial: int) -> None:
    domain = Blocksworld("h_ff", {"blocks": blocks})
    problem = domain.problem(trial)
    space = blocksworld_space(problem)
    assert space.state(space.start) == problem.start
    assert not space.is_goal(space.start)
    assert problem.start != problem.goal
    (goal,) = (s for s in range(space.states_reachable) if space.is_goal(s))
    assert space.to_goal[goal] == 0
    assert problem.is_goal(space.state(goal))


def test_moves_can_be_undone_so_distances_are_symmetric() -> None:
    moves = graph(5)
    for state in range(0, moves.size, 7):
        row = moves.distances_from(state)
        assert row[state] == 0
        for other in range(0, moves.size, 101):
            assert moves.distances_from(other)[state] == row[other]


@pytest.mark.parametrize("blocks", [1, 0, -1, 10, 10**9])
def test_impossible_numbers_of_blocks_are_refused(blocks: int) -> None:
    with pytest.raises(SettingError, match=f"domain blocksworld: blocks must be .*not {blocks}$"):
        Blocksworld("h_ff", {"blocks": blocks})
