"""What is particular to authorization planning."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from beeline.draws import Draws
from beeline.errors import DomainError
from beeline.facts import Call
from beeline.world import INDEXES, LEVELS, Interface, ToolError, Verdict
from domains.worlds.authorization_planning.generate import BARGAIN, PLANTED, SIZES, Size, generate
from domains.worlds.authorization_planning.instance import (
    SAFE,
    Authorization,
    Handoff,
    check,
    price,
    resolve_plays,
)
from domains.worlds.authorization_planning.present import AuthorizationDesk, code_of
from domains.worlds.authorization_planning.solve import solve
from domains.worlds.authorization_planning.verify import verify
from domains.worlds.certify import manifest_path
from tests.domains.worlds import contract
from tests.domains.worlds.specification import Specified
from tests.domains.worlds.test_families import case_of, private_of

DOMAIN = case_of("authorization_planning").domain
both = pytest.mark.parametrize("interface", list(Interface))
levels = pytest.mark.parametrize("level", LEVELS)


def instance() -> Authorization:
    made = private_of("authorization_planning").instance
    assert isinstance(made, Authorization)
    return made


def best() -> list[str]:
    return list(private_of("authorization_planning").solution.decision)


def without_rule(made: Authorization) -> Authorization:
    """Every package meets the residue rule."""
    plays = tuple(tuple(play._replace(residue=0) for play in stage) for stage in made.plays)
    return replace(made, modulus=1, required=0, plays=plays)


# The problem.


def test_budgets_plans_and_catalogues_are_those_of_the_specification() -> None:
    Specified(
        budgets={
            "L1": (120, 152, 200),
            "L2": (148, 176, 232),
            "L3": (162, 200, 264),
            "L4": (176, 224, 296),
        },
        calls=(17, 73),
        costs=(99, 291),
        full=(729, 1257),
    ).check(DOMAIN)


def test_certified_work_is_near_that_of_the_published_instances() -> None:
    published = {
        "L1": (43_747, 44_176),
        "L2": (994_240, 999_048),
        "L3": (7_036_179, 7_045_627),
        "L4": (35_238_569, 35_313_268),
    }
    entries = json.loads(manifest_path("authorization_planning").read_text("utf-8"))["instances"]
    for place, entry in entries.items():
        low, high = published[place[:2]]
        assert 0.99 * low <= entry["work"]["total"] <= 1.01 * high


@levels
def test_shape_of_generated_instances(level: str) -> None:
    n, w, g, modulus = SIZES[level]
    made = DOMAIN.generated(level, 1, 1)
    assert (len(made.stages), made.width, made.degree, made.modulus) == (n, w, g, modulus)
    assert [len(rows) for rows in made.handoffs] == [w] + [w * g] * (n - 1)
    for rows in made.handoffs[1:]:
        assert set(Counter(row.before for row in rows).values()) == {g}
        assert set(Counter(row.after for row in rows).values()) == {g}
    for stage in made.plays:
        costs = [(play.base, play.adjustment) for play in stage]
        assert sorted(c for c in costs if 0 in c) == [(0, 230), (230, 0)]
        assert all(50 <= part <= 60 for c in costs if 0 not in c for part in c)
    # Where a lane's play lies among the plays of its stage tells nothing.
    free = [[play.base for play in stage].index(0) for stage in made.plays]
    assert len(set(free)) > w // 2
    codes = {code_of(play.id) for stage in made.plays for play in stage}
    assert len(codes) == n * w


@levels
def test_steps_are_those_of_four_lanes_or_dear(level: str) -> None:
    made = DOMAIN.generated(level, 2, 1)
    for i, rows in enumerate(made.handoffs):
        steps = Counter(row.cost + int(made.totals[i, row.after]) for row in rows)
        assert (steps[PLANTED], steps[BARGAIN], steps[250] >= 2) == (1, 1, True)
        assert all(step >= 190 for step in steps if step not in (PLANTED, BARGAIN))


@levels
@pytest.mark.parametrize("index", INDEXES)
def test_the_certified_optimum_is_the_planted_lane(level: str, index: int) -> None:
    entries = json.loads(manifest_path("authorization_planning").read_text("utf-8"))["instances"]
    assert entries[f"{level}/{index}"]["optimum"] == PLANTED * SIZES[level].stages


@pytest.mark.parametrize("index", INDEXES)
def test_without_the_residue_rule_the_false_bargain_is_best(index: int) -> None:
    made = private_of("authorization_planning", "L1", index).instance
    solution = solve(without_rule(made))
    assert (solution.objective, solution.optima) == (BARGAIN * len(made.stages), 1)
    positions = resolve_plays(made, solution.decision)
    assert positions is not None
    package = price(made, positions)
    assert package is not None
    assert package.residue != made.required
    assert not check(made, solution.decision).feasible


def test_leaving_out_the_best_package_costs_little() -> None:
    """Many packages lie close behind the optimum: with one play of it made dear, less than one in
    ten is lost."""
    made = instance()
    at = made.places[best()[12]][1]
    stage = tuple(p._replace(base=10_000) if j == at else p for j, p in enumerate(made.plays[12]))
    second = solve(replace(made, plays=(*made.plays[:12], stage, *made.plays[13:])))
    assert second.objective is not None
    assert 3600 < second.objective < 3600 * 1.1


# Solvers at their limits.


@pytest.mark.parametrize("number", range(3))
def test_solvers_agree_without_lanes(number: int) -> None:
    """Instances of the size of L1 with costs drawn from few values, which have several optima."""
    draws = Draws("tests", "flat", number)
    made = generate(SIZES["L1"], draws)
    made = replace(
        made,
        plays=tuple(tuple(p._replace(residue=draws.below(11)) for p in stage) for stage in made.plays),
        handoffs=tuple(tuple(row._replace(cost=draws.below(9)) for row in rows) for rows in made.handoffs),
    )
    one, other = solve(made), verify(made)
    assert (one.objective, one.optima) == (other.objective, other.optima)
    assert check(made, one.decision) == check(made, other.decision) == Verdict(True, one.objective)


@pytest.mark.parametrize("field", ["base", "adjustment", "handoff"])
def test_costs_near_the_bound_are_added_exactly(field: str) -> None:
    """Costs near 2^55, which a float would round: the optimum shifts by as much."""
    made = generate(Size(4, 6, 3, 5), Draws("tests", "bound"))
    shift = 2**55 + 1
    if field == "handoff":
        rows = tuple(tuple(row._replace(cost=row.cost + shift) for row in rows) for rows in made.handoffs)
        dear = replace(made, handoffs=rows)
    else:
        plays = tuple(
            tuple(play._replace(**{field: getattr(play, field) + shift}) for play in stage)
            for stage in made.plays
        )
        dear = replace(made, plays=plays)
    before = solve(made)
    assert before.objective is not None
    for solution in (solve(dear), verify(dear)):
        assert (solution.objective, solution.decision) == (before.objective + 4 * shift, before.decision)
    assert check(dear, before.decision) == Verdict(True, before.objective + 4 * shift)


def test_a_large_modulus_leaves_most_residues_unreached() -> None:
    made = generate(Size(3, 4, 2, 1009), Draws("tests", "sparse"))
    solution = solve(made)
    assert solution.agrees(verify(made))
    assert solution.work == case_of("authorization_planning").plain_work(made)
    assert solution.work is not None
    assert solution.work.states <= 4 + 8 + 16
    other = replace(made, required=(made.required + 1) % 1009)
    assert solve(other).objective is verify(other).objective is None
    assert DOMAIN.reference(other) is None
    assert DOMAIN.random_decision(other, Draws("tests")) is None


def first_stage(**change: Any) -> Callable[[Authorization], Authorization]:
    def changed(made: Authorization) -> Authorization:
        plays = (made.plays[0][0]._replace(**change), *made.plays[0][1:])
        return replace(made, plays=(plays, *made.plays[1:]))

    return changed


def rows_into(stage: int, change: Callable[[tuple[Handoff, ...]], tuple[Handoff, ...]]) -> Any:
    def changed(made: Authorization) -> Authorization:
        rows = list(made.handoffs)
        rows[stage] = change(rows[stage])
        return replace(made, handoffs=tuple(rows))

    return changed


def onto_first(rows: tuple[Handoff, ...]) -> tuple[Handoff, ...]:
    """Every play hands over to plays 0 and 1 alone."""
    return tuple(sorted(row._replace(after=k % 2) for k, row in enumerate(rows)))


MALFORMED: list[tuple[Callable[[Authorization], Authorization], str]] = [
    (
        lambda a: replace(a, stages=a.stages[:1], plays=a.plays[:1], handoffs=a.handoffs[:1]),
        "two stages or more",
    ),
    (lambda a: replace(a, stages=a.stages[1:]), "two stages or more"),
    (lambda a: replace(a, plays=(*a.plays[:-1], a.plays[-1][1:])), "as many plays"),
    (lambda a: replace(a, plays=(a.plays[0][::-1], *a.plays[1:])), "sorted by id"),
    (lambda a: replace(a, plays=(a.plays[1], *a.plays[1:])), "different ids"),
    (lambda a: replace(a, source=a.plays[1][0].id), "different ids"),
    (lambda a: replace(a, required=a.modulus), "below the modulus"),
    (lambda a: replace(a, required=-1), "below the modulus"),
    (first_stage(base=-1), "out of range"),
    (first_stage(adjustment=-1), "out of range"),
    (first_stage(residue=5), "out of range"),
    (rows_into(1, lambda rows: rows[::-1]), "sorted, different and not negative"),
    (rows_into(1, lambda rows: (rows[0], *rows[:-1])), "sorted, different and not negative"),
    (
        rows_into(2, lambda rows: (rows[0]._replace(cost=-1), *rows[1:])),
        "stage 2 must be sorted, different and not negative",
    ),
    (rows_into(2, lambda rows: rows[:-1]), "as many handoffs must leave each play before stage 2"),
    (rows_into(0, lambda rows: rows[:-1]), "as many handoffs must leave each play before stage 0"),
    (rows_into(1, onto_first), "each play of stage 1 must be entered"),
    (first_stage(base=SAFE), "64-bit"),
    (rows_into(0, lambda rows: (*rows[:-1], rows[-1]._replace(cost=SAFE))), "64-bit"),
]


@pytest.mark.parametrize(("change", "why"), MALFORMED)
def test_malformed_instances_are_refused(change: Callable[[Authorization], Authorization], why: str) -> None:
    with pytest.raises(DomainError, match=why):
        change(generate(Size(3, 4, 2, 5), Draws("tests", "malformed")))


# Decisions.


def test_any_order_is_legal_and_any_other_set_is_not() -> None:
    made, package = instance(), best()
    shuffled = list(package)
    Draws("tests", "order").shuffle(shuffled)
    assert shuffled != package
    assert check(made, shuffled) == Verdict(True, 3600)
    # A second play of the stage, in place of and besides the first.
    other = next(play.id for play in made.plays[0] if play.id != package[0])
    assert not check(made, [other, package[0], *package[2:]]).feasible
    assert not check(made, [*package, other]).feasible
    assert not check(made, [*package[:-1], made.source]).feasible
    assert not check(made, [*package[:-1], made.stages[-1]]).feasible
    assert not check(made, [*package[:-1], code_of(package[-1])]).feasible


def test_unauthorized_steps_and_wrong_residues_are_illegal() -> None:
    """Of the packages that differ from the best one in one play: just those that are authorized on both
    sides and have the same residue are legal."""
    made, package = instance(), best()
    unauthorized = wrong = 0
    for i, stage in enumerate(made.plays):
        for play in stage:
            changed = [*package[:i], play.id, *package[i + 1 :]]
            positions = resolve_plays(made, changed)
            assert positions is not None
            pairs = [(j, row) for j, rows in enumerate(made.handoffs) for row in rows]
            steps = {(j, row.before, row.after) for j, row in pairs}
            authorized = all(
                (j, positions[j - 1] if j else 0, positions[j]) in steps for j in range(len(positions))
            )
            right = sum(made.plays[j][p].residue for j, p in enumerate(positions)) % 11 == made.required
            assert check(made, changed).feasible == (authorized and right)
            unauthorized += not authorized and right
            wrong += authorized and not right
    assert unauthorized > 0
    assert wrong > 0


@both
def test_evaluation_breaks_the_cost_down(interface: Interface) -> None:
    desk = AuthorizationDesk(instance(), interface)
    told = desk.evaluate(best())
    parts = [told[key] for key in ("base_cost", "override_adjustment", "authorization_cost")]
    assert sum(parts) == told["total_cost"] == 3600
    assert all(part > 0 for part in parts)
    assert desk.evaluate(best()[1:]) == {"complete": False, "legal": False}


# The tools.


def call(tool: str, **arguments: Any) -> Call:
    return Call(tool, arguments)


@both
def test_an_adjustment_takes_catalog_and_policy(interface: Interface) -> None:
    made = instance()
    policy, catalog = (
        call("read_override_policy"),
        call("read_catalog_window", start=3, length=2),
    )

    def kinds(*calls: Call) -> Counter[str]:
        return Counter(fact[0] for fact in contract.told(DOMAIN, made, interface, calls))

    assert kinds(policy) == {"rule": 1}
    assert kinds(catalog) == {"base": 28, "residue": 28}
    assert kinds(policy, catalog) == {"rule": 1, "base": 28, "residue": 28, "adjustment": 28}


def test_mediated_handoffs_need_a_join() -> None:
    """No row has predecessor and successor in it, and slots follow neither."""
    made = instance()
    desk = AuthorizationDesk(made, Interface.MEDIATED)
    for stage in made.stages[1:]:
        (told,) = desk.answer("read_authorization_stage", {"stage": stage})["stages"]
        entries, exits = told["authorization_entries"], told["authorization_exits"]
        assert [slot for slot, _, _ in exits] == list(range(70))
        assert sorted(slot for _, slot in entries) == list(range(70))
        assert entries == sorted(entries)
        assert [slot for _, slot in entries] != list(range(70))
        assert [after for _, after, _ in exits] != sorted(after for _, after, _ in exits)


def test_both_interfaces_tell_the_same_catalog_and_policy() -> None:
    made = instance()
    desks = [AuthorizationDesk(made, interface) for interface in Interface]
    for request in DOMAIN.catalogue(made, Interface.DIRECT):
        one, other = (desk.answer(request.tool, request.arguments) for desk in desks)
        assert (one == other) == ("authorization" not in request.tool)


@both
def test_slots_are_counted_anew_in_each_stage(interface: Interface) -> None:
    """A window tells the stages just as they are told one by one, and never an approval."""
    made = instance()
    desk = AuthorizationDesk(made, interface)
    for kind in ("catalog", "authorization"):
        window = desk.answer(f"read_{kind}_window", {"start": 4, "length": 3})["stages"]
        alone = [desk.answer(f"read_{kind}_stage", {"stage": made.stages[i]})["stages"] for i in (4, 5, 6)]
        assert [[stage] for stage in window] == alone


@both
def test_only_the_first_stage_names_the_source(interface: Interface) -> None:
    made = instance()
    desk = AuthorizationDesk(made, interface)
    for i, stage in enumerate(made.stages):
        told = json.dumps(desk.answer("read_authorization_stage", {"stage": stage}))
        assert (made.source in told) == (i == 0)
        assert code_of(made.plays[i][0].id) not in told


def test_rows_without_their_other_half_are_not_joined() -> None:
    made = instance()
    request = call("read_authorization_stage", stage=made.stages[3])
    (executed,) = contract.executed(DOMAIN, made, Interface.MEDIATED, [request])
    (stage,) = executed.response["stages"]
    del stage["authorization_exits"][5]
    facts = DOMAIN.normalise(DOMAIN.public(made), [executed])
    assert len(facts) == 69
    assert facts < DOMAIN.facts(made)


@both
@pytest.mark.parametrize("kind", ["catalog", "authorization"])
def test_windows_end_with_the_last_stage(interface: Interface, kind: str) -> None:
    made = instance()
    desk = AuthorizationDesk(made, interface)
    told = desk.answer(f"read_{kind}_window", {"start": 22, "length": 2})
    assert [stage["stage_id"] for stage in told["stages"]] == list(made.stages[-2:])
    for start, length in [(22, 3), (23, 2), (10**400, 2)]:
        with pytest.raises(ToolError, match="beyond"):
            desk.answer(f"read_{kind}_window", {"start": start, "length": length})
    for handle in ("", made.source, made.plays[0][0].id):
        with pytest.raises(ToolError, match="no stage"):
            desk.answer(f"read_{kind}_stage", {"stage": handle})
