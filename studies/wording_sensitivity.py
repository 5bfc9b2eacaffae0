"""How much the score depends on the words around the options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from beeline.errors import SettingError, nearest
from beeline.study import Condition
from beeline.wording import WORDINGS, Wording, read_wording
from studies.sensitivity import Sensitivity, benchmark_first, navigation_only, settings_of

if TYPE_CHECKING:
    from beeline.spec import Spec

__all__ = ["WordingSensitivity"]


@dataclass(frozen=True, kw_only=True)
class _Settings:
    wordings: tuple[str, ...] | None = None
    """Names of ours (beeline.wording); all when null."""
    file: str | None = None
    """A wording of the user's own."""


class WordingSensitivity(Sensitivity):
    """The version's wording, the house's others and one of the user's own, each a condition of its
    name."""

    name = "wording_sensitivity"
    factor = "wording"
    factors = "wordings"

    def __init__(self, wordings: tuple[str, ...] | None = None, own: Wording | None = None) -> None:
        for name in wordings or ():
            if name not in WORDINGS:
                raise SettingError(f"study.wordings: there is no wording {name!r}: {nearest(name, WORDINGS)}")
        self.wordings = tuple(WORDINGS) if wordings is None else wordings
        self.own = own

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """``wordings``: a list of names, or null for all; ``file``: a wording of one's own."""
        given = settings_of(_Settings, settings, cls.name)
        return cls(given.wordings, None if given.file is None else read_wording(Path(given.file)))

    def conditions(self) -> tuple[Condition, ...]:
        """For a version worded ``plain``."""
        return self._conditions("plain")

    def conditions_for(self, spec: Spec) -> tuple[Condition, ...]:
        """One a wording, the version's first. Raises SettingError where a file of one's own words a
        domain that there is not."""
        navigation_only(spec)
        for domain, _ in self.own.domains if self.own is not None else ():
            known = (spec.domain_name, *spec.definition.domains)
            if domain not in known:
                raise SettingError(f"study.file words a domain {domain!r}: {nearest(domain, known)}")
        return self._conditions(spec.definition.wording)

    def benchmark_is(self, spec: Spec) -> str:
        """The version's wording."""
        return f"the wording {spec.definition.wording!r} of version {spec.version}"

    def _conditions(self, version: str) -> tuple[Condition, ...]:
        others = [WORDINGS[name] for name in self.wordings if name != version]
        if self.own is not None:
            others.append(self.own)
        return benchmark_first(Condition(name=wording.name, wording=wording) for wording in others)
