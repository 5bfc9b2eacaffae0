"""Every navigation domain of the config tree, as a version makes it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from functools import cache
from typing import Any

from omegaconf import OmegaConf

from beeline.arms import OFFLINE_ARMS, run_offline_arm
from beeline.draws import Draws
from beeline.model_arm import ModelArmResult, UsabilityGuard, model_arm
from beeline.problem import Domain
from beeline.question import Answer, Question
from beeline.resolver import resolve
from beeline.search import Limits
from beeline.space import Space
from beeline.versions import Definition
from beeline.wording import Wording
from tests.shared import ROOT

VERSION = "1.0.0"


def read_yaml(*parts: str) -> dict[str, Any]:
    data = OmegaConf.to_container(OmegaConf.load(ROOT.joinpath("conf", *parts)), resolve=True)
    assert isinstance(data, dict)
    return {str(key): value for key, value in data.items()}


@cache
def definition(version: str = VERSION) -> Definition:
    table = read_yaml("version", f"{version}.yaml")
    del table["name"]
    return Definition.read(table)


@cache
def targets() -> dict[str, str]:
    """Import path by name of each navigation domain that has a YAML file, sorted by name."""
    entries = [read_yaml("domain", path.name) for path in sorted((ROOT / "conf" / "domain").glob("*.yaml"))]
    # By the path, not by the class: a domain that cannot be imported fails its own tests only.
    return {e["name"]: e["target"] for e in entries if e["target"].startswith("domains.navigation.")}


def make(name: str, parameters: Mapping[str, Any] | None = None) -> Domain:
    """The domain as version 1.0.0 has it, or with other parameters."""
    entry = definition().domain(name)
    domain = resolve(targets()[name])(entry.heuristic, entry.parameters if parameters is None else parameters)
    assert isinstance(domain, Domain)
    return domain


def instance_of(domain: Domain, trial: int) -> Any:
    return domain.draw(trial, Draws(domain.name, trial))


@cache
def _first_of(size: int) -> list[float]:
    return [1.0] + [0.0] * (size - 1)


def first_option(
    space: Space, domain: Domain, trial: int, limits: Limits, keep_trace: bool = False
) -> ModelArmResult:
    """The model arm of a chooser that is sure of whatever option it is shown first."""
    steps: Generator[Question, Answer, ModelArmResult] = model_arm(
        space,
        domain.name,
        domain.task,
        trial,
        "first-option",
        limits,
        Wording("plain", "Pick one."),
        UsabilityGuard(),
        keep_trace,
    )
    try:
        question = next(steps)
        while True:
            # A number a place, in the order shown: 10% quicker than a map from the texts.
            question = steps.send(Answer(_first_of(len(question.options))))
    except StopIteration as stop:
        result: ModelArmResult = stop.value
        return result


def all_arms(space: Space, domain: Domain, trial: int, limits: Limits) -> dict[str, dict[str, Any]]:
    """Record fields of the three offline arms and of first_option's search."""
    shortest = space.shortest_path
    arms = {
        arm: run_offline_arm(arm, space, domain.name, trial, limits).as_dict(shortest, limits)
        for arm in OFFLINE_ARMS
    }
    chosen = first_option(space, domain, trial, limits)
    return arms | {"first_option": chosen.search.as_dict(shortest, limits)}
