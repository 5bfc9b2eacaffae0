"""series_portfolio: one lot of each title, so that lot values and series adjustments add up to the most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from beeline.draws import Draws
from beeline.facts import Call, Executed, Fact, Facts, Plan
from beeline.world import Interface, Presentation, Verdict
from beeline.world_domain import WorldDomain, rotation
from beeline.world_solution import Solution
from domains.worlds.series_portfolio import facts as facts_
from domains.worlds.series_portfolio import generate as generate_
from domains.worlds.series_portfolio import instance as instance_
from domains.worlds.series_portfolio import present, release, solve, verify, words
from domains.worlds.series_portfolio.generate import Size
from domains.worlds.series_portfolio.instance import Portfolio

__all__ = ["SeriesPortfolio"]


class SeriesPortfolio(WorldDomain[Portfolio]):
    """The family; see the modules of this package for each part."""

    name = "series_portfolio"
    title = "Series Portfolio"
    task = "Choose one lot of each title so that lot values and series adjustments add up to the most."
    sense = "max"
    decision_key = "lots"
    container = "array"
    tools = present.TOOLS
    submit = present.SUBMIT
    costs = rotation(present.TOOLS, (2, 3, 12, 4, 8, 1000), (3, 3, 12, 4, 8, 1000), (4, 3, 12, 4, 8, 1000))
    channels = facts_.CHANNELS
    sizes = generate_.SIZES

    def generate(self, size: Size, draws: Draws) -> Portfolio:
        """See :mod:`domains.worlds.series_portfolio.generate`."""
        return generate_.generate(size, draws)

    def solve(self, instance: Portfolio) -> Solution:
        """See :mod:`domains.worlds.series_portfolio.solve`."""
        return solve.solve(instance)

    def verify(self, instance: Portfolio) -> Solution:
        """See :mod:`domains.worlds.series_portfolio.verify`."""
        return verify.verify(instance)

    def check(self, instance: Portfolio, value: Any) -> Verdict:
        """One known lot of each title."""
        return instance_.check(instance, value)

    def reference(self, instance: Portfolio) -> Any:
        """Lot values only."""
        return solve.reference(instance)

    def random_decision(self, instance: Portfolio, draws: Draws) -> Any:
        """A drawn lot of each title."""
        return solve.random_choices(instance, draws)

    def to_json(self, instance: Portfolio) -> dict[str, Any]:
        """See :class:`~domains.worlds.series_portfolio.instance.Portfolio`."""
        return instance.as_json()

    def from_json(self, data: Mapping[str, Any]) -> Portfolio:
        """See :class:`~domains.worlds.series_portfolio.instance.Portfolio`."""
        return Portfolio.of_json(data)

    def present(self, instance: Portfolio, interface: Interface) -> Presentation:
        """See :mod:`domains.worlds.series_portfolio.present`."""
        return present.SeriesDesk(instance, interface)

    def public(self, instance: Portfolio) -> dict[str, Any]:
        """Counts, the largest span, and the handles of titles and series in order."""
        return {
            "group_count": instance.size,
            "series_count": len(instance.series),
            "max_series_span": instance.span,
            "titles": [title.id for title in instance.titles],
            "series": [row.id for row in instance.series],
        }

    def words(self, public: Mapping[str, Any], interface: Interface) -> tuple[str, str]:
        """The same in both interfaces."""
        return words.environment(public), words.REQUEST

    def plans(self, instance: Portfolio, interface: Interface) -> tuple[Plan, Plan]:
        """Titles, windows."""
        return facts_.plans(instance)

    def catalogue(self, instance: Portfolio, interface: Interface) -> Sequence[Call]:
        """Equal in both interfaces."""
        return facts_.catalogue(instance)

    def normalise(self, public: Mapping[str, Any], executed: Sequence[Executed]) -> Facts:
        """See :mod:`domains.worlds.series_portfolio.facts`."""
        return facts_.normalise(executed)

    def facts(self, instance: Portfolio) -> Facts:
        """4n + F of them."""
        return facts_.all_facts(instance)

    def channel(self, fact: Fact) -> str:
        """Titles or series."""
        return facts_.channel(fact)

    def rebuild(self, public: Mapping[str, Any], facts: Facts) -> Portfolio:
        """See :mod:`domains.worlds.series_portfolio.facts`."""
        return facts_.rebuild(public, facts)

    def variant(self, instance: Portfolio, channel: str, draws: Draws) -> Portfolio:
        """See :mod:`domains.worlds.series_portfolio.facts`."""
        return facts_.variant(instance, channel, draws)

    def of_release(self, payload: Mapping[str, Any], interface: Interface) -> tuple[Portfolio, Presentation]:
        """See :mod:`domains.worlds.series_portfolio.release`."""
        return release.of_release(payload, interface)
