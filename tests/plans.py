"""Navigation domains as the plan of a version, for tests that open trials themselves."""

from __future__ import annotations

from beeline.wording import WORDINGS
from beeline.worker import DomainPlan
from tests.domains_found import definition, targets


def plan(domain: str, version: str = "1.0.0") -> DomainPlan:
    """Without a cache."""
    known = definition(version)
    entry = known.domain(domain)
    return DomainPlan.of(
        entry.parameters,
        name=domain,
        target=targets()[domain],
        heuristic=entry.heuristic,
        definition=known.digest,
        limits=known.limits,
        wording=WORDINGS[known.wording],
        plugins=(),
        cache=None,
        ties=known.ties,
        representation=entry.representation,
    )
