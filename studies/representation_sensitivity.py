"""How much the score depends on how states are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from beeline.errors import SettingError
from beeline.representation import find_representation
from beeline.study import Condition
from studies.sensitivity import Sensitivity, benchmark_first, navigation_only, settings_of

if TYPE_CHECKING:
    from beeline.spec import Spec

__all__ = ["RepresentationSensitivity"]


@dataclass(frozen=True, kw_only=True)
class _Settings:
    representations: tuple[str, ...] | None = None
    """Of the domain; all when null."""


class RepresentationSensitivity(Sensitivity):
    """The version's way to write states and the domain's others, each a condition of its name."""

    name = "representation_sensitivity"
    factor = "representation"
    factors = "representations"

    def __init__(self, representations: tuple[str, ...] | None = None) -> None:
        self.representations = representations

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """``representations``: a list of names, or null for all."""
        return cls(settings_of(_Settings, settings, cls.name).representations)

    def conditions(self) -> tuple[Condition, ...]:
        """The benchmark's; which others there are, a domain says."""
        return (Condition(),)

    def conditions_for(self, spec: Spec) -> tuple[Condition, ...]:
        """One a representation, the version's first. Raises SettingError for a domain with one only
        and for an unknown name."""
        navigation_only(spec)
        known = [representation.name for representation in spec.domain.representations]
        if len(known) < 2:
            raise SettingError(f"domain {spec.domain_name} writes its states in one way only")
        own = _own(spec)
        for name in self.representations or ():
            find_representation(spec.domain, name)
        wanted = self.representations if self.representations is not None else known
        return benchmark_first(Condition(name=n, representation=n) for n in wanted if n != own)

    def benchmark_is(self, spec: Spec) -> str:
        """The version's representation."""
        return f"the representation {_own(spec)!r} of version {spec.version}"


def _own(spec: Spec) -> str:
    """How the version writes the domain's states."""
    return spec.definition.domain(spec.domain_name).representation or spec.domain.representations[0].name
