"""authorization_planning: one play a stage, each step authorized, three sources of cost, one residue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from beeline.draws import Draws
from beeline.facts import Call, Executed, Fact, Facts, Plan
from beeline.world import Interface, Presentation, Verdict
from beeline.world_domain import WorldDomain, rotation
from beeline.world_solution import Solution
from domains.worlds.authorization_planning import facts as facts_
from domains.worlds.authorization_planning import generate as generate_
from domains.worlds.authorization_planning import instance as instance_
from domains.worlds.authorization_planning import present, solve, verify, words
from domains.worlds.authorization_planning.generate import Size
from domains.worlds.authorization_planning.instance import Authorization

__all__ = ["AuthorizationPlanning"]


class AuthorizationPlanning(WorldDomain[Authorization]):
    """The family; see the modules of this package for each part."""

    name = "authorization_planning"
    title = "Authorization Planning"
    task = "Choose one play of each stage, authorized step by step, so that the package costs least."
    sense = "min"
    decision_key = "plays"
    container = "array"
    tools = present.TOOLS
    submit = present.SUBMIT
    costs = rotation(present.TOOLS, (2, 2, 7, 7, 3, 5), (3, 3, 7, 7, 3, 5), (4, 4, 7, 7, 3, 5))
    channels = facts_.CHANNELS
    sizes = generate_.SIZES

    def generate(self, size: Size, draws: Draws) -> Authorization:
        """See :mod:`domains.worlds.authorization_planning.generate`."""
        return generate_.generate(size, draws)

    def solve(self, instance: Authorization) -> Solution:
        """See :mod:`domains.worlds.authorization_planning.solve`."""
        return solve.solve(instance)

    def verify(self, instance: Authorization) -> Solution:
        """See :mod:`domains.worlds.authorization_planning.verify`."""
        return verify.verify(instance)

    def check(self, instance: Authorization, value: Any) -> Verdict:
        """One known play a stage in any order, each step authorized, the required residue."""
        return instance_.check(instance, value)

    def reference(self, instance: Authorization) -> Any:
        """Base costs and adjustments only, both conditions kept."""
        return solve.reference(instance)

    def random_decision(self, instance: Authorization, draws: Draws) -> Any:
        """A legal package drawn stage by stage."""
        return solve.random_package(instance, draws)

    def to_json(self, instance: Authorization) -> dict[str, Any]:
        """See :class:`~domains.worlds.authorization_planning.instance.Authorization`."""
        return instance.as_json()

    def from_json(self, data: Mapping[str, Any]) -> Authorization:
        """See :class:`~domains.worlds.authorization_planning.instance.Authorization`."""
        return Authorization.of_json(data)

    def present(self, instance: Authorization, interface: Interface) -> Presentation:
        """See :mod:`domains.worlds.authorization_planning.present`."""
        return present.AuthorizationDesk(instance, interface)

    def public(self, instance: Authorization) -> dict[str, Any]:
        """The stages in order and the numbers of plays and handoffs."""
        return facts_.public(instance)

    def words(self, public: Mapping[str, Any], interface: Interface) -> tuple[str, str]:
        """The same in both interfaces."""
        return words.environment(public), words.REQUEST

    def plans(self, instance: Authorization, interface: Interface) -> tuple[Plan, Plan]:
        """Stages, windows."""
        return facts_.plans(instance)

    def catalogue(self, instance: Authorization, interface: Interface) -> Sequence[Call]:
        """Equal in both interfaces."""
        return facts_.catalogue(instance)

    def normalise(self, public: Mapping[str, Any], executed: Sequence[Executed]) -> Facts:
        """See :mod:`domains.worlds.authorization_planning.facts`."""
        return facts_.normalise(executed)

    def facts(self, instance: Authorization) -> Facts:
        """3nw + E + 1 of them."""
        return facts_.all_facts(instance)

    def channel(self, fact: Fact) -> str:
        """Catalog, authorization or policy."""
        return facts_.channel(fact)

    def rebuild(self, public: Mapping[str, Any], facts: Facts) -> Authorization:
        """See :mod:`domains.worlds.authorization_planning.facts`."""
        return facts_.rebuild(public, facts)

    def variant(self, instance: Authorization, channel: str, draws: Draws) -> Authorization:
        """See :mod:`domains.worlds.authorization_planning.facts`."""
        return facts_.variant(instance, channel, draws)
