"""Certification refuses each way in which a family can be wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from beeline import world_domain
from beeline.errors import DomainError, StorageError
from beeline.facts import Call, Executed, Fact, Facts, Plan
from beeline.world import BANDS, Interface, Verdict
from beeline.world_certify import certify
from beeline.world_solution import Solution
from domains.worlds import certify as command
from domains.worlds.certify import main
from domains.worlds.families import UNCERTIFIED
from domains.worlds.transit_routing import TransitRouting
from domains.worlds.transit_routing.instance import Transit


class WrongVerifier(TransitRouting):
    def verify(self, instance: Transit) -> Solution:
        return replace(super().verify(instance), optima=2)


class OtherDecision(TransitRouting):
    def verify(self, instance: Transit) -> Solution:
        return replace(super().verify(instance), decision=self.reference(instance))


class WrongChecker(TransitRouting):
    def check(self, instance: Transit, value: Any) -> Verdict:
        verdict = super().check(instance, value)
        return verdict if verdict.objective is None else Verdict(True, verdict.objective + 1)


class OptimalReference(TransitRouting):
    def reference(self, instance: Transit) -> Any:
        return self.solve(instance).decision


class MissingFact(TransitRouting):
    def normalise(self, public: Mapping[str, Any], executed: Sequence[Executed]) -> Facts:
        facts = sorted(super().normalise(public, executed), key=repr)
        return frozenset(facts[1:])


class WrongRebuild(TransitRouting):
    def rebuild(self, public: Mapping[str, Any], facts: Facts) -> Transit:
        made = super().rebuild(public, facts)
        rows = tuple(tuple(2 * cost for cost in row) for row in made.transfers)
        return replace(made, transfers=rows)


class WrongPlan(TransitRouting):
    def plans(self, instance: Transit, interface: Interface) -> tuple[Plan, Plan]:
        one, two = super().plans(instance, interface)
        return one, Plan(two.name, (*two.calls[:-1], Call("read_transfer_costs", {"line_id": "unknown"})))


class SmallBudget(TransitRouting):
    def budget(self, instance: Transit, index: int) -> int:
        return super().budget(instance, index) - 1


class SmallCatalogue(TransitRouting):
    def catalogue(self, instance: Transit, interface: Interface) -> Sequence[Call]:
        return super().plans(instance, interface)[0].calls


class OneChannel(TransitRouting):
    def channel(self, fact: Fact) -> str:
        return "route"


@pytest.mark.parametrize(
    ("family", "why"),
    [
        (WrongVerifier, "the two solvers disagree"),
        (OtherDecision, "the two solvers disagree"),
        (WrongChecker, "checker values the optimum"),
        (MissingFact, "does not tell exactly the facts"),
        (WrongRebuild, "rebuilt from its facts has another optimum"),
        (WrongPlan, "a plan calls read_transfer_costs .* no line has this id"),
        (SmallBudget, "exceed the budget"),
        (SmallCatalogue, "full catalogue fits"),
        (OneChannel, "one channel only"),
    ],
)
def test_refused(family: type[TransitRouting], why: str) -> None:
    with pytest.raises(DomainError, match=why):
        certify(family("reference", UNCERTIFIED), "L1", 1)


def test_no_attempt_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world_domain, "MAX_ATTEMPTS", 2)
    family = OptimalReference("reference", UNCERTIFIED)
    reasons = []

    def run() -> None:
        for _, _, reason, _ in family.attempts("L1", 1):
            reasons.append(reason)

    with pytest.raises(DomainError, match="none of 2 attempts"):
        run()
    assert reasons == ["the reference decision is optimal or infeasible"] * 2


def test_instances_that_are_not_accepted() -> None:
    family = TransitRouting("reference", UNCERTIFIED)
    good = family.generated("L1", 1, 1)
    low, high = BANDS["L2"]
    assert family.consider("L2", 1, 1, good) == f"work 49123 outside {low} to {high}"
    level = tuple(tuple(leg._replace(time=5) for leg in stage) for stage in good.legs)
    free = tuple(tuple(0 for _ in row) for row in good.transfers)
    assert family.consider("L1", 1, 1, replace(good, legs=level, transfers=free)) == "several optima"
    stuck = tuple(tuple(leg._replace(residue=0) for leg in stage) for stage in good.legs)
    assert family.consider("L1", 1, 1, replace(good, legs=stuck, required=1)) == "no feasible decision"


def test_the_command_names_what_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transit_rooting"]) == 2
    assert "did you mean transit_routing or" in capsys.readouterr().err


def test_the_command_certifies_a_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transit_routing", "--check"]) == 0
    shown = capsys.readouterr().out
    assert "(unchanged)" in shown
    assert shown.count("transit_routing L") == 12


@pytest.mark.parametrize("torn", ['{"schema": "beeline_wor', "", "[1]"])
def test_a_torn_manifest_is_replaced(
    torn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(torn, "utf-8")
    monkeypatch.setattr(command, "manifest_path", lambda family: path)
    assert command._settle("toy", {"edition": 1}, write=False)
    assert "(differs)" in capsys.readouterr().out
    assert path.read_text("utf-8") == torn
    assert command._settle("toy", {"edition": 1}, write=True)
    assert "(written)" in capsys.readouterr().out
    assert not command._settle("toy", {"edition": 1}, write=False)


def test_a_manifest_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "absent" / "manifest.json"
    monkeypatch.setattr(command, "manifest_path", lambda family: path)
    with pytest.raises(StorageError, match=r"manifest\.json cannot be written .*writable"):
        command._settle("toy", {"edition": 1}, write=True)


def test_a_manifest_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "manifest_path", lambda family: tmp_path)
    with pytest.raises(StorageError, match="cannot be read"):
        command._settle("toy", {"edition": 1}, write=False)
