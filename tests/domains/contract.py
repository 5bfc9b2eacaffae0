"""What every navigation domain promises, as checks that can be pointed at any of them.

Each takes a domain (and trials) and fails with an AssertionError. ``test_contract.py`` runs them
over every domain of the config tree; the author of a plug-in can import them for theirs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from beeline.arms import OFFLINE_ARMS, run_offline_arm
from beeline.draws import Draws
from beeline.problem import Domain, Problem
from beeline.search import Limits, search
from beeline.space import UNREACHABLE, Space, explore
from tests.domains_found import all_arms, first_option, instance_of

NO_EVICTIONS = 10**9
SAMPLED = 1_500
"""Heuristic values compared between kernel and plain form, per trial."""


def check_instance_survives_json(domain: Domain, trial: int) -> None:
    """A drawn instance is JSON data, and what is built from it does not depend on the trip."""
    instance = instance_of(domain, trial)
    trip = json.loads(json.dumps(instance, allow_nan=False))
    assert trip == instance, "the instance holds something that JSON changes (a tuple, a key that is no text)"
    assert seen_of(domain.build(trial, trip)) == seen_of(domain.build(trial, instance))
    spaces = [domain.space(trial, data) for data in (instance, trip)]
    assert summary(spaces[0]) == summary(spaces[1])
    assert json.loads(json.dumps(instance)) == trip, "building changed the instance"


def check_trial_is_repeatable(one: Domain, other: Domain, trials: Iterable[int]) -> None:
    """Two domains made alike draw the same trials, in any order; no two trials are alike."""
    first = {trial: json.dumps(instance_of(one, trial)) for trial in trials}
    again = {trial: json.dumps(instance_of(other, trial)) for trial in reversed(list(first))}
    assert first == again
    assert len(set(first.values())) == len(first)


def check_start_and_wording(domain: Domain, trial: int) -> None:
    """The start is no goal, and everything that is told to a model is there."""
    problem = domain.problem(trial)
    assert not problem.is_goal(problem.start)
    hash(problem.start)
    words = (domain.title, domain.task, problem.objective, problem.context, problem.render(problem.start))
    for text in words:
        assert isinstance(text, str)
        assert text == text.strip() != ""
        text.encode()


def check_successors_are_repeatable(domain: Domain, trial: int) -> None:
    """Two problems built apart name the same successors, texts and values along a walk."""
    instance = instance_of(domain, trial)
    copies = [domain.build(trial, json.loads(json.dumps(instance))) for _ in range(2)]
    walks = [walk(problem, Draws(domain.name, trial, "walk")) for problem in copies]
    assert walks[0] == walks[1]
    assert len(walks[0]) > 1


def walk(problem: Problem[Any], draws: Draws, steps: int = 30) -> list[Any]:
    state, seen = problem.start, []
    for _ in range(steps):
        following = list(problem.successors(state))
        seen.append(
            (state, following, problem.is_goal(state), problem.heuristic(state), problem.render(state))
        )
        # Asked again, and the other way round, so that nothing hangs on what was asked before.
        assert list(problem.successors(state)) == following
        if not following:
            break
        state = draws.choice(following)
    return seen


def check_texts_differ_on_frontiers(domain: Domain, trial: int, limits: Limits) -> None:
    """No two states of one frontier share a text (the model arm checks each question it asks, and
    this every frontier of a random search)."""
    space = domain.space(trial, instance_of(domain, trial))
    below = Draws(domain.name, trial, "random").below
    steps = search(space, limits, Draws(domain.name, trial, "evict", "random"), space.text)
    try:
        frontier = next(steps)
        while True:
            assert len(set(frontier.keys)) == len(frontier.keys) == len(set(frontier.states))
            steps.send(below(len(frontier.states)))
    except StopIteration:
        pass


def check_kernel_is_the_plain_search(domain: Domain, trial: int, injective: bool = True) -> None:
    """The domain's space and the plain exhaustive search agree on every state.

    The two are walked side by side from their starts, which pairs their numbers.
    """
    instance = instance_of(domain, trial)
    problem = domain.build(trial, instance)
    kernel, plain = domain.space(trial, instance), explore(problem)
    for name in ("shortest_path", "states_reachable", "states_reaching_goal", "objective", "context"):
        assert getattr(kernel, name) == getattr(plain, name), name

    partner = {plain.start: kernel.start}
    queue = [plain.start]
    texts = set()
    for number in queue:
        twin = partner[number]
        assert kernel.state(twin) == plain.state(number)
        assert kernel.is_goal(twin) == plain.is_goal(number)
        assert kernel.to_goal[twin] == plain.to_goal[number]
        assert kernel.from_start[twin] == plain.from_start[number]
        text = plain.text(number)
        assert kernel.text(twin) == text
        texts.add(text)
        row, twins = plain.successors(number), kernel.successors(twin)
        assert len(row) == len(twins)
        for following, following_twin in zip(row, twins, strict=True):
            if following not in partner:
                partner[following] = following_twin
                queue.append(following)
            assert partner[following] == following_twin
    assert len(queue) == plain.states_reachable == len(set(partner.values()))
    if injective:
        assert len(texts) == len(queue)
    for value in (kernel.to_goal[kernel.start], kernel.from_start[kernel.start]):
        assert type(value) is int
    sample = queue[:: max(1, len(queue) // SAMPLED)]
    check_same_order([(plain.heuristic(n), kernel.heuristic(partner[n])) for n in sample])


def check_same_order(pairs: list[tuple[Any, Any]]) -> None:
    """Plain and kernel values sort any two states alike: equal where equal, less where less."""
    value_of: dict[Any, Any] = {}
    for plain, kernel in pairs:
        assert value_of.setdefault(plain, kernel) == kernel
    ordered = [value_of[plain] for plain in sorted(value_of)]
    assert all(one < other for one, other in pairwise(ordered))


def check_distances(space: Space) -> None:
    """Each distance is one more than the least of the successors', and 0 at goals."""
    counted = reaching = 0
    queue, seen = [space.start], {space.start}
    for state in queue:
        counted += 1
        distance = space.to_goal[state]
        reaching += distance != UNREACHABLE
        row = list(space.successors(state))
        for following in row:
            assert space.from_start[following] <= space.from_start[state] + 1
            if following not in seen:
                seen.add(following)
                queue.append(following)
        if space.is_goal(state):
            assert distance == 0
        else:
            nearest = min((space.to_goal[following] for following in row), default=UNREACHABLE)
            assert distance == (UNREACHABLE if nearest == UNREACHABLE else nearest + 1)
    assert (counted, reaching) == (space.states_reachable, space.states_reaching_goal)
    assert space.from_start[space.start] == 0
    assert space.to_goal[space.start] == space.shortest_path > 0


def check_least_value_at_goals(space: Space, only: bool) -> None:
    """Goals have the least heuristic value of all states; with ``only``, no other state has it."""
    queue, seen = [space.start], {space.start}
    for state in queue:
        for following in space.successors(state):
            if following not in seen:
                seen.add(following)
                queue.append(following)
    goals = [space.heuristic(state) for state in queue if space.is_goal(state)]
    others = [space.heuristic(state) for state in queue if not space.is_goal(state)]
    assert len(set(goals)) == 1
    assert goals[0] < min(others) if only else goals[0] <= min(others)


def check_arms_of_kernel_and_plain(domain: Domain, trial: int, limits: Limits) -> None:
    """Whole searches over both spaces are equal, choice by choice."""
    instance = instance_of(domain, trial)
    spaces = (domain.space(trial, instance), explore(domain.build(trial, instance)))
    kernel, plain = (all_arms(space, domain, trial, limits) for space in spaces)
    assert kernel == plain
    traces = [first_option(space, domain, trial, limits, keep_trace=True).trace for space in spaces]
    assert traces[0] is not None
    assert traces[1] is not None
    assert len(traces[0].lines) == plain["first_option"]["expansions"]
    assert traces[0].lines == traces[1].lines


def check_arms_keep_their_bounds(domain: Domain, trial: int, limits: Limits) -> None:
    """Scores lie in (0, 1], no path is shorter than the shortest, and no arm beats the oracle
    where nothing is evicted."""
    space = domain.space(trial, instance_of(domain, trial))
    shortest = space.shortest_path
    for arm, fields in all_arms(space, domain, trial, limits).items():
        assert 0 < fields["score"] <= 1, arm
        assert 0 < fields["expansions"] <= limits.max_expansions
        if fields["solved"]:
            assert fields["path_length"] >= shortest
            assert fields["expansions"] >= shortest + 1
            assert 0 < fields["path_score"] <= 1
        else:
            assert fields["path_length"] is fields["path_score"] is None
        if "choices" in fields:
            choices = fields["choices"]
            assert 0 <= choices["optimal"] + choices["dead_ends"] <= choices["decisions"]
            assert choices["on_path"] <= choices["contested"] <= choices["decisions"]
            assert choices["regret"] >= choices["decisions"] - choices["optimal"] - choices["dead_ends"]
    roomy = Limits(limits.max_expansions, NO_EVICTIONS)
    outcomes = {arm: run_offline_arm(arm, space, domain.name, trial, roomy).outcome for arm in OFFLINE_ARMS}
    assert outcomes["oracle"].solved
    assert outcomes["oracle"].path_length == shortest
    assert outcomes["oracle"].expansions == shortest + 1
    assert min(outcome.expansions for outcome in outcomes.values()) == shortest + 1


def summary(space: Space) -> list[Any]:
    """What of a space can be compared cheaply."""
    return [
        space.shortest_path,
        space.states_reachable,
        space.states_reaching_goal,
        space.objective,
        space.context,
        space.text(space.start),
        [space.text(s) for s in space.successors(space.start)],
        [space.to_goal[s] for s in space.successors(space.start)],
    ]


def seen_of(problem: Problem[Any]) -> list[Any]:
    """What of a problem can be compared without searching it."""
    start = problem.start
    following = list(problem.successors(start))
    return [
        start,
        problem.objective,
        problem.context,
        following,
        [problem.render(s) for s in following],
        [problem.heuristic(s) for s in following],
        [problem.is_goal(s) for s in following],
    ]
