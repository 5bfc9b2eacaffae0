"""What every family of worlds promises, as checks that can be pointed at any of them.

A family's author writes a :class:`Case` (``<family>_case.py``, object ``CASE``); ``test_families.py``
runs every check over every family.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from beeline.digest import canonical
from beeline.draws import Draws
from beeline.episode import EpisodeEnding, EpisodeLimits, EpisodeResult, Status, ToolCall, Turn, play
from beeline.facts import Call, Executed, Facts, Insufficient, coverage
from beeline.world import BANDS, LEVELS, Coordinate, Interface, Verdict, World, compact
from beeline.world_agents import bad_agents, offline_agent, scripted
from beeline.world_domain import WorldDomain
from beeline.world_score import arm_fields
from beeline.world_solution import Private, Solution, Work


class Case(ABC):
    """What the checks need to know of a family beyond its contract."""

    domain: WorldDomain[Any]
    sizes: ClassVar[dict[str, int]]
    """Number of facts of a sufficient set at each level."""
    unordered: bool
    """Whether the submitted list is a set."""
    redundant: frozenset[str] = frozenset()
    """Tools of which a plan can spare any one call: what it tells follows from the others by the prompt."""
    infeasible_happens: bool = False
    """Whether ``small`` may make an instance without a feasible decision."""

    @abstractmethod
    def small(self, draws: Draws) -> Any:
        """A random instance with at most a few thousand decisions, some with equal values so that
        several optima happen."""

    @abstractmethod
    def decisions(self, instance: Any) -> Iterator[Any]:
        """Every decision that might be feasible, once (of a set: in one order)."""

    @abstractmethod
    def plain_work(self, instance: Any) -> Work:
        """The work of the construction algorithm, counted by plain loops."""

    def directory(self, instance: Any) -> Sequence[Call]:
        """Valid calls that reveal no fact and so are not in the catalogue."""
        return ()


def small_instances(case: Case, count: int) -> Iterator[Any]:
    for number in range(count):
        yield case.small(Draws("tests", case.domain.name, number))


def enumerate_optima(case: Case, instance: Any) -> tuple[int | None, int, Any]:
    """(optimum, number of optima, one of them) by looking at every decision."""
    sign = 1 if case.domain.sense == "min" else -1
    best: int | None = None
    count, first = 0, None
    for decision in case.decisions(instance):
        value = case.domain.check(instance, decision).objective
        if value is None:
            continue
        assert type(value) is int
        if best is None or sign * value < sign * best:
            best, count, first = value, 1, decision
        elif value == best:
            count += 1
    return best, count, first


def same_decision(case: Case, one: Any, other: Any) -> bool:
    if case.unordered and isinstance(one, list):
        return sorted(one) == sorted(other)
    return bool(one == other)


def assert_plain(solution: Solution) -> None:
    """Only plain Python values: no numpy number may slip into a record."""
    numbers = [solution.objective, solution.optima]
    if solution.work is not None:
        work = solution.work
        numbers += [work.states, work.transitions, work.checks, work.updates, work.reconstructions]
    assert all(number is None or type(number) is int for number in numbers), numbers
    assert json.loads(json.dumps(solution.decision)) == solution.decision


def check_solvers(case: Case, count: int) -> None:
    """Construction, verification and enumeration find the same value and number of optima."""
    domain = case.domain
    several = without = 0
    for instance in small_instances(case, count):
        best, number, decision = enumerate_optima(case, instance)
        for solution in (domain.solve(instance), domain.verify(instance)):
            assert_plain(solution)
            assert (solution.objective, solution.optima) == (best, min(number, 2))
            if best is None:
                assert solution.decision is None
                continue
            verdict = domain.check(instance, solution.decision)
            assert verdict == Verdict(True, best)
            if number == 1:
                assert same_decision(case, solution.decision, decision)
        several += number > 1
        without += best is None
    assert several, "no instance had several optima: make Case.small draw equal values sometimes"
    assert bool(without) == case.infeasible_happens


def check_work(case: Case, count: int) -> None:
    """The counted work is that of the plain instrumented algorithm."""
    for instance in small_instances(case, count):
        assert case.domain.solve(instance).work == case.plain_work(instance)


def check_offline_decisions(case: Case, count: int) -> None:
    """Reference and random decisions are feasible whenever anything is, and repeatable."""
    domain = case.domain
    for number, instance in enumerate(small_instances(case, count)):
        if domain.solve(instance).objective is None:
            continue
        reference = domain.reference(instance)
        assert domain.check(instance, reference).feasible
        assert domain.reference(domain.from_json(domain.to_json(instance))) == reference
        drawn = [domain.random_decision(instance, Draws("tests", number)) for _ in range(2)]
        assert drawn[0] == drawn[1]
        assert domain.check(instance, drawn[0]).feasible


def check_json(case: Case, count: int) -> None:
    """An instance survives JSON, and its JSON data is equal afterwards."""
    domain = case.domain
    for instance in small_instances(case, count):
        data = domain.to_json(instance)
        trip = json.loads(canonical(data))
        assert trip == data, "the JSON form holds something that JSON changes (a tuple?)"
        again = domain.from_json(trip)
        assert domain.to_json(again) == data
        assert domain.facts(again) == domain.facts(instance)


def executed(
    domain: WorldDomain[Any], instance: Any, interface: Interface, calls: Sequence[Call]
) -> list[Executed]:
    """The calls with their responses as a model gets them, through text."""
    desk = domain.present(instance, interface)
    return [
        Executed(c.tool, c.arguments, json.loads(compact(desk.answer(c.tool, c.arguments)))) for c in calls
    ]


def told(domain: WorldDomain[Any], instance: Any, interface: Interface, calls: Sequence[Call]) -> Facts:
    return domain.normalise(domain.public(instance), executed(domain, instance, interface, calls))


def check_facts(case: Case, instance: Any) -> None:
    """Both plans tell exactly the facts, in both interfaces; the catalogue tells no others; every tool
    has a channel; what is rebuilt has the same facts and the same optimum."""
    domain = case.domain
    facts = domain.facts(instance)
    public = json.loads(canonical(domain.public(instance)))
    for interface in Interface:
        for plan in domain.plans(instance, interface):
            assert told(domain, instance, interface, plan.calls) == facts, (plan.name, interface)
        catalogue = domain.catalogue(instance, interface)
        assert told(domain, instance, interface, catalogue) == facts
        requests = [(call.tool, canonical(dict(call.arguments))) for call in catalogue]
        assert len(set(requests)) == len(requests)
        assert {tool for tool, _ in requests} <= {tool.name for tool in domain.tools[:-1]}
        assert {tool for tool, _ in requests} <= set().union(*domain.channels.values())
    assert {domain.channel(fact) for fact in facts} == set(domain.channels)
    rebuilt = domain.rebuild(public, facts)
    assert domain.facts(rebuilt) == facts
    assert domain.solve(rebuilt).agrees(domain.solve(instance))


def check_monotone(case: Case, instance: Any, draws: Draws) -> None:
    """More calls never take a fact away, order and repeats do not matter, and both interfaces tell the
    same for the same calls when their plans are equal."""
    domain = case.domain
    public = domain.public(instance)
    for interface in Interface:
        calls = executed(domain, instance, interface, domain.catalogue(instance, interface))
        draws.shuffle(calls)
        before: Facts = frozenset()
        step = max(1, len(calls) // 12)
        for end in range(0, len(calls) + step, step):
            now = domain.normalise(public, calls[:end])
            assert before <= now
            before = now
        assert before == domain.normalise(public, [*calls[::-1], *calls])
    direct, mediated = (list(domain.catalogue(instance, interface)) for interface in Interface)
    if direct == mediated and not domain.shuffled_windows:
        some = draws.sample(direct, len(direct) // 2)
        assert told(domain, instance, Interface.DIRECT, some) == told(
            domain, instance, Interface.MEDIATED, some
        )


def check_dropping(case: Case, instance: Any) -> None:
    """Without any one of its calls, a plan is sufficient for neither set, and the facts that remain do
    not make up an instance; or they are all the facts, and the call is redundant."""
    domain = case.domain
    public = domain.public(instance)
    for interface in Interface:
        sets = domain.sufficient(instance, interface)
        for plan in domain.plans(instance, interface):
            calls = executed(domain, instance, interface, plan.calls)
            for place in range(len(calls)):
                left = domain.normalise(public, calls[:place] + calls[place + 1 :])
                if plan.calls[place].tool in case.redundant:
                    assert left == domain.facts(instance)
                    continue
                assert coverage(sets, left) < 1, (
                    f"{plan.name} ({interface}) does not need {plan.calls[place]}"
                )
                assert_insufficient(domain, public, left)


def assert_insufficient(domain: WorldDomain[Any], public: Any, facts: Facts) -> None:
    """Rebuilding fails with Insufficient and a reason, and in no other way."""
    with pytest.raises(Insufficient, match=r"."):
        domain.rebuild(public, facts)


def check_budget(case: Case, level: str, index: int, instance: Any) -> None:
    """Budget rule, full catalogue, call cap and number of facts."""
    domain = case.domain
    worlds = [domain.world(instance, Coordinate(level, index, interface)) for interface in Interface]
    assert worlds[0].budget == worlds[1].budget
    assert worlds[0].costs == worlds[1].costs
    for world in worlds:
        plans = domain.plans(instance, world.coordinate.interface)
        dearest = max(world.cost_of(plan.calls) for plan in plans)
        assert world.budget >= dearest + world.costs[world.evaluator.name]
        assert all(len(plan.calls) < EpisodeLimits().max_calls for plan in plans)
        assert world.cost_of(domain.catalogue(instance, world.coordinate.interface)) > world.budget
        assert set(world.costs) == {tool.name for tool in world.tools}
        assert all(type(cost) is int and cost > 0 for cost in world.costs.values())
    exact = max(
        world.cost_of(plan.calls)
        for world in worlds
        for plan in domain.plans(instance, world.coordinate.interface)
    )
    assert worlds[0].budget == exact + worlds[0].costs[worlds[0].evaluator.name]
    assert len(domain.facts(instance)) == case.sizes[level]


def check_words(case: Case, world: World) -> None:
    """The texts state costs, budget and tools; the schemas are closed; no placeholder is left."""
    assert str(world.budget) in world.system
    for tool in (*world.tools, world.submit):
        assert tool.name in world.system
        assert len(tool.description) > 10
    for name, cost in world.costs.items():
        assert f"{name}={cost}" in world.system
    assert world.submit.name in world.user
    for schema in world.schemas():
        parameters = schema["function"]["parameters"]
        assert parameters["additionalProperties"] is False
        assert sorted(parameters["properties"]) == sorted(parameters["required"])
        assert json.loads(json.dumps(schema)) == schema
    for text in (world.system, world.user):
        assert text == text.strip() + "\n"
        assert "None" not in text
        assert "  \n" not in text
        assert text.isascii()


def check_channels(case: Case, instance: Any, tries: int) -> None:
    """Channel necessity and response isolation: for each channel some variant has another optimum, and
    no variant changes a fact of another channel or a response of a tool outside the channel."""
    domain = case.domain
    optimum = domain.solve(instance).objective
    facts = domain.facts(instance)
    for channel, tools in domain.channels.items():
        differs = False
        for number in range(tries):
            other = domain.variant(instance, channel, Draws("tests", "variant", channel, number))
            theirs = domain.facts(other)
            assert {f for f in facts if domain.channel(f) != channel} == {
                f for f in theirs if domain.channel(f) != channel
            }
            assert canonical(domain.public(other)) == canonical(domain.public(instance))
            if number == 0:
                check_isolation(domain, instance, other, tools)
            if domain.solve(other).objective != optimum:
                differs = True
                break
        assert differs, f"no variant in channel {channel} has another optimum"


def check_isolation(domain: WorldDomain[Any], instance: Any, other: Any, tools: frozenset[str]) -> None:
    for interface in Interface:
        one, two = domain.present(instance, interface), domain.present(other, interface)
        changed = False
        for call in domain.catalogue(instance, interface):
            texts = [compact(desk.answer(call.tool, call.arguments)) for desk in (one, two)]
            if call.tool in tools:
                changed |= texts[0] != texts[1]
            else:
                assert texts[0] == texts[1], f"{call.tool} tells of a channel it is not in"
        assert changed


def check_certified(case: Case, private: Private[Any]) -> None:
    """One optimum, reference strictly worse, work in its band."""
    domain, instance = case.domain, private.instance
    low, high = BANDS[private.level]
    assert private.solution.work is not None
    assert low <= private.solution.work.total <= high
    assert private.solution.optima == 1
    optimum, reference = private.optimum, private.reference_objective
    assert reference > optimum if domain.sense == "min" else reference < optimum
    assert domain.check(instance, private.solution.decision) == Verdict(True, optimum)
    assert domain.check(instance, private.reference) == Verdict(True, reference)


def check_arms(case: Case, private: Private[Any], world: World) -> None:
    """Oracle, heuristic and random end as they must; the evaluator agrees with the checker."""
    domain = case.domain
    arms: dict[str, dict[str, Any]] = {}
    for arm in ("oracle", "heuristic", "random"):
        result = play(world, offline_agent(arm, domain, private, world))
        arms[arm] = arm_fields(domain, private, world, result)
        assert json.loads(compact(arms[arm])) == arms[arm]
        assert arms[arm]["faults"] == 0
        assert 0 <= arms[arm]["utility"] <= 100
        assert arms[arm]["regret"] >= 0
    oracle, heuristic, random = arms["oracle"], arms["heuristic"], arms["random"]
    assert oracle["outcome"] == "optimal"
    assert (oracle["utility"], oracle["regret"], oracle["coverage"]) == (100.0, 0.0, 1.0)
    assert oracle["sufficient"] is heuristic["sufficient"] is True
    assert oracle["grounded"] == oracle["named"] > 0
    assert (heuristic["utility"], heuristic["regret"], heuristic["feasible"]) == (0.0, 1.0, True)
    assert random["feasible"] is True
    assert (random["calls"], random["spend"], random["coverage"]) == (0, 0, 0.0)
    assert 0 < oracle["spend"] <= world.budget - world.costs[world.evaluator.name]


def check_bad_agents(case: Case, private: Private[Any], world: World) -> None:
    """Agents that break rules end in the right class, charged what they must be."""
    domain = case.domain
    agents = bad_agents(domain, private, world)
    ends = {}
    for name, agent in agents.items():
        result = play(world, agent)
        assert not result.faults
        assert result.spend <= world.budget
        assert result.spend == sum(called.charge for called in result.log)
        ends[name] = arm_fields(domain, private, world, result) | {"result": result}
    assert ends["no_decision"]["outcome"] == ends["only_text"]["outcome"] == "no_decision"
    assert ends["only_text"]["calls"] == 0
    assert ends["wrong_types"]["outcome"] == "protocol_violation"
    assert ends["over_budget"]["refused"] >= 1
    assert ends["over_budget"]["outcome"] == "no_decision"
    repeat: EpisodeResult = ends["repeat_evaluation"]["result"]
    first = repeat.log[0]
    assert first.status is Status.EXECUTED
    assert first.charge == world.costs[world.evaluator.name]
    # The second is charged where it fits the budget, refused where it does not; it tells nothing.
    assert repeat.log[1].status in (Status.FAILED, Status.REFUSED)
    assert set(repeat.log[1].result) & set(first.result) == set()


def check_evaluator(case: Case, instance: Any, world: World) -> None:
    """The evaluator tells whether a candidate is feasible and its objective, for any content."""
    domain = case.domain
    best = domain.solve(instance).decision
    told = world.presentation.evaluate(best)
    objective = domain.check(instance, best).objective
    assert told["legal"] is True
    assert objective in told.values()
    for value in MALFORMED:
        if domain.check(instance, value).feasible:
            continue
        answer = world.presentation.evaluate(value)
        assert answer["legal"] is False
        assert not any(type(part) is int for part in answer.values()), answer
        acknowledged = world.presentation.acknowledge(domain.check(instance, value))
        assert acknowledged["legal"] is False
        assert None in acknowledged.values()


MALFORMED: list[Any] = [
    None,
    True,
    0,
    10**400,
    1.5,
    "",
    "LEG",
    [],
    {},
    [None],
    [[]],
    [{}],
    [1, 2],
    ["", ""],
    {"": ""},
    {"a": ["b"]},
    [["nested", ["deeper"]]],
    ["x"] * 1000,
    {"a": {"b": {}}},
    ["\ud800"],
]


def check_order(case: Case, private: Private[Any]) -> None:
    """Where the list is a set any order is accepted; elsewhere another order is infeasible."""
    domain, instance = case.domain, private.instance
    if domain.container != "array":
        return
    best = list(private.solution.decision)
    turned = best[::-1]
    if case.unordered:
        assert domain.check(instance, turned) == domain.check(instance, best)
    else:
        assert not domain.check(instance, turned).feasible
    assert not domain.check(instance, [*best, best[0]]).feasible
    assert not domain.check(instance, best[:-1]).feasible
    assert not domain.check(instance, [*best[:-1], "UNKNOWN"]).feasible


def fuzzed(draws: Draws, calls: Sequence[Call], handles: Sequence[str]) -> ToolCall:
    """A tool call that is valid, nearly valid or nonsense."""
    call = draws.choice(calls)
    arguments: Any = dict(call.arguments)
    kind = draws.below(12)
    if kind == 0:
        return ToolCall(call.tool, draws.choice(BAD_TEXTS))
    if kind == 1:
        return ToolCall(draws.choice(BAD_NAMES), arguments)
    if kind == 2 and arguments:
        del arguments[draws.choice(sorted(arguments))]
    elif kind == 3:
        arguments[draws.choice(["extra", "stage", "", "legs"])] = draws.choice(MALFORMED)
    elif kind <= 8 and arguments:
        arguments[draws.choice(sorted(arguments))] = draws.choice(
            [*MALFORMED, *handles, -1, 1, 2, 3, 4, 24, 2.0, "2", False]
        )
    return ToolCall(call.tool, json.dumps(arguments) if draws.below(2) else arguments)


BAD_TEXTS = [
    "",
    "nothing",
    "[]",
    "null",
    "3",
    '"text"',
    "{",
    "{'a': 1}",
    '{"a": NaN}',
    '{"a": 1e999}',
    "[" * 9999,
]
BAD_NAMES: list[Any] = [None, 7, "", "unknown_tool", "survey", ["x"], "Submit", {}]


def strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from strings_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings_in(part)


def check_fuzzed_arguments(case: Case, world: World, instance: Any, count: int) -> None:
    """Any call at all: an answer exactly when the arguments are those of a valid request, else an error;
    charged exactly when dispatched; never a fault."""
    domain = case.domain
    valid = [*domain.catalogue(instance, world.coordinate.interface), *case.directory(instance)]
    evaluation = Call(world.evaluator.name, {world.decision_key: domain.solve(instance).decision})
    requests = {(call.tool, canonical(dict(call.arguments))) for call in valid}
    draws = Draws("tests", "fuzz", domain.name)
    # Every handle that the tools or the prompt name, of whatever role.
    desk = world.presentation
    answers = [desk.answer(call.tool, call.arguments) for call in valid]
    handles = sorted(set(strings_in([answers, domain.public(instance)])))
    handles = draws.sample(handles, min(len(handles), 200)) + handles[-1:]
    # Every kind of call as often as the others, however many requests it has.
    tools = sorted({call.tool for call in valid})
    pool = [
        *(call for name in tools for call in sample(draws, [c for c in valid if c.tool == name], 12)),
        evaluation,
    ]
    calls = [fuzzed(draws, pool, handles) for _ in range(count)]
    rich = replace(world, budget=10**9)
    result = play(rich, scripted(iter([Turn(calls)])), EpisodeLimits(max_turns=2, max_calls=count))
    assert result.ending is EpisodeEnding.NO_FINAL_DECISION
    assert not result.faults
    assert len(result.log) == count
    spend = 0
    evaluated = False
    statuses = set()
    for call, called in zip(calls, result.log, strict=True):
        arguments = parsed(call.arguments)
        dispatched = isinstance(call.name, str) and call.name in world.costs and arguments is not None
        charge = world.costs[call.name] if dispatched else 0
        spend += charge
        assert (called.charge, called.spend) == (charge, spend)
        assert json.loads(compact(called.result)) == called.result
        if not dispatched:
            good = False
        elif call.name == world.evaluator.name:
            good = not evaluated and list(arguments or {}) == [world.decision_key]
            evaluated |= good
        else:
            good = (call.name, canonical(arguments)) in requests
        expected = Status.EXECUTED if good else Status.FAILED if dispatched else Status.REFUSED
        assert called.status is expected, (call, called.result)
        assert bool(called.result.get("error")) is not good, (call, called.result)
        if not good:
            assert list(called.result) == ["error"]
            assert isinstance(called.result["error"], str)
        statuses.add(called.status)
    assert statuses == {Status.EXECUTED, Status.FAILED, Status.REFUSED}


def sample(draws: Draws, items: Sequence[Call], most: int) -> list[Call]:
    return draws.sample(items, min(most, len(items)))


def parsed(arguments: Any) -> dict[str, Any] | None:
    if isinstance(arguments, dict):
        return arguments
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or "NaN" in arguments or "1e999" in arguments:
        return None
    return value


def levels_of(case: Case) -> list[str]:
    return [level for level in LEVELS if level in case.sizes]
