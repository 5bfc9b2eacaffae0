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

PINNED_WORLDS: Mapping[str, Mapping[str, str]] = {"1.0.0": {}}
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
