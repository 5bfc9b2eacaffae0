"""What a benchmark version says of the worlds suite: one table a family.

Families are independent of each other, so each has a definition, and a digest, of its own: a family
that joins a version later moves no other. A table names the edition, which enters every draws path,
and the digest of the certified manifest, which fixes all instances, optima and references.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from beeline.digest import digest_of
from beeline.episode import EpisodeLimits
from beeline.errors import SettingError, nearest

__all__ = ["PINNED_WORLDS", "FamilyDefinition", "read_worlds"]

PINNED_WORLDS: Mapping[str, Mapping[str, str]] = {
    "1.0.0": {
        "transit_routing": "e5e18c7db2526f14a3245e965ecc5ce0e9867e801d29b74c3544aadef59806f8",
        "basket_assembly": "92014db823662b04b45a72eb38d963ac46df7352bccd508da9b3e4ff880f5eb2",
        "station_siting": "7b1ac02ccfb69ad700beceb14f3f3209cf5ff807b1e500a88ce812866597ca41",
        "authorization_planning": "27d1485206fd6c8d716a7587ae4622eddefbc48cc9e60c109eebc916c2f3a8f7",
        "series_portfolio": "7775c98275de01a9ac2c73efe6c0cb73ffe0a371177185f1182e6291505592ef",
    },
}
"""Digest of each family's definition in each released version."""


@dataclass(frozen=True, slots=True)
class FamilyDefinition:
    """Everything that decides what the worlds of a family, and their scores, are."""

    family: str
    edition: int
    manifest: str
    limits: EpisodeLimits

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the family's class is made from."""
        return {"edition": self.edition, "manifest": self.manifest}

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as digested."""
        return {
            "suite": "worlds",
            "family": self.family,
            "edition": self.edition,
            "manifest": self.manifest,
            "limits": asdict(self.limits),
        }

    @property
    def digest(self) -> str:
        """SHA-256 of the definition."""
        return digest_of(self.as_dict())


def read_worlds(data: Any) -> dict[str, FamilyDefinition]:
    """The ``worlds`` table of a version; an absent one is empty. Raises SettingError."""
    if data is None:
        return {}
    if not isinstance(data, Mapping):
        raise SettingError(f"version.worlds must map families to their edition and manifest, not {data!r}")
    return {str(name): _family(str(name), entry) for name, entry in data.items()}


def _family(name: str, entry: Any) -> FamilyDefinition:
    where = f"version.worlds.{name}"
    known = {"edition": int, "manifest": str}
    if not isinstance(entry, Mapping):
        raise SettingError(f"{where} must hold edition and manifest, not {entry!r}")
    for key in entry:
        if key not in known:
            raise SettingError(f"{where}.{key} is no setting: {nearest(str(key), known)}")
    for key, kind in known.items():
        if type(entry.get(key)) is not kind:
            raise SettingError(f"{where}.{key}={entry.get(key)!r}: must be {kind.__name__}")
    return FamilyDefinition(name, entry["edition"], entry["manifest"], EpisodeLimits())
