"""The trials of a spec, opened without running them: for studies that ask about what was met."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from beeline.cache import cache_folder
from beeline.errors import SettingError
from beeline.space import Space
from beeline.spec import Spec
from beeline.wording import WORDINGS
from beeline.worker import DomainPlan, TrialTask, domain_of, open_space, run_offline

__all__ = ["of_navigation", "open_trial", "plan_of", "spaces", "texts_of"]


def of_navigation(spec: Spec) -> None:
    """Raises SettingError for a domain without frontiers."""
    if spec.domain.suite != "navigation":
        raise SettingError(
            f"study={spec.study.name} is about frontiers: choose a domain of the navigation suite, "
            f"not {spec.domain_name}"
        )


def plan_of(spec: Spec) -> DomainPlan:
    """The domain as the version makes it, in its own order and representation."""
    of_navigation(spec)
    return DomainPlan.of(
        spec.domain.parameters_given,
        name=spec.domain_name,
        target=spec.domain_target,
        heuristic=spec.domain.heuristic,
        definition=spec.definition.digest,
        limits=spec.definition.limits,
        wording=WORDINGS[spec.definition.wording],
        plugins=spec.plugins,
        ties=spec.definition.ties,
        representation=spec.definition.domain(spec.domain_name).representation,
        cache=str(cache_folder()) if spec.cache else None,
    )


def open_trial(plan: DomainPlan, trial: int) -> Space:
    """The space of one trial, its offline arms taken from the cache or run."""
    offline: dict[str, Any] = run_offline(TrialTask(plan, trial))
    return open_space(plan, trial, offline["instance"])


def spaces(plan: DomainPlan, trials: int) -> Iterator[tuple[int, Space]]:
    """Trials 1 to ``trials``, one after the other."""
    for trial in range(1, trials + 1):
        yield trial, open_trial(plan, trial)


def texts_of(plan: DomainPlan, space: Space) -> tuple[str, str, str, str]:
    """Task, goal, context and instructions of a trial's questions."""
    from beeline.representation import find_representation

    domain = domain_of(plan)
    representation = find_representation(domain, plan.representation)
    task = representation.task if representation is not None else None
    return plan.wording.texts(plan.name, task or domain.task, space.objective, space.context)
