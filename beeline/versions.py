"""A benchmark version's definition: everything that decides what a trial and a score are.

Which trials or domains are run is no part of it: trial n is the same in every run. The
definition of a released version never changes; its digest is pinned here, beside the code that
gives it meaning. A run whose definition differs from the released one is *custom*: it must be
named, and its records lie under ``custom-<name>`` where they never mix with official ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from beeline.digest import differences, digest_of
from beeline.errors import SettingError, nearest
from beeline.search import Limits
from beeline.wording import WORDINGS

__all__ = ["FALLBACKS", "PINNED", "TIES", "Definition", "DomainDefinition", "name_run"]

TIES = ("frontier_order", "seeded_draw")
"""Who wins among options that share the top probability: the first in frontier order, or one drawn
from (domain, trial, "tie", model)."""
FALLBACKS = ("reask_once_then_first_shown",)
PINNED: Mapping[str, str] = {
    "1.0.0": "61c3b3c87e05482a8b36c6927efeb107393b1db6d7b57893e0cc12f797c4e984",
    "2.0.0": "d382f3861998dd709a2d59684f2f4b122f45e93dbe88bcacb9d1c9094f291623",
}
"""Digest of each released version's definition."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class DomainDefinition:
    """What a version says about one domain."""

    heuristic: str
    parameters: Mapping[str, Any]
    representation: str | None = None
    """None for the one that the domain's problems write themselves."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data; a version that says nothing of representations has none in its digest."""
        data: dict[str, Any] = {"heuristic": self.heuristic, "parameters": dict(self.parameters)}
        return data if self.representation is None else data | {"representation": self.representation}


@dataclass(frozen=True, slots=True)
class Definition:
    """A resolved definition; :meth:`read` checks it."""

    limits: Limits
    ties: str
    fallback: str
    wording: str
    domains: Mapping[str, DomainDefinition]

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Definition:
        """Check and convert the ``version`` group of a config, its ``name`` left out.

        Raises SettingError naming the key, the value and what is allowed.
        """
        data = {key: value for key, value in data.items() if key != "worlds"}  # see beeline.world_version
        known = ("max_expansions", "max_frontier", "ties", "fallback", "wording", "domains")
        for key in data:
            if key not in known:
                raise SettingError(f"version.{key} is no setting: {nearest(str(key), known)}")
        for key in known:
            if key not in data:
                raise SettingError(f"version.{key} is missing")
        limits = Limits(
            _at_least(data, "max_expansions", 1),
            _at_least(data, "max_frontier", 2),
        )
        for key, allowed in (("ties", TIES), ("fallback", FALLBACKS), ("wording", tuple(WORDINGS))):
            if data[key] not in allowed:
                raise SettingError(f"version.{key}={data[key]}: {nearest(str(data[key]), allowed)}")
        if not isinstance(data["domains"], Mapping) or not data["domains"]:
            raise SettingError("version.domains must map domain names to their heuristic and parameters")
        return cls(
            limits,
            data["ties"],
            data["fallback"],
            data["wording"],
            {name: _domain(name, entry) for name, entry in data["domains"].items()},
        )

    def domain(self, name: str) -> DomainDefinition:
        """What the version says about a domain; SettingError when it does not know it."""
        if name not in self.domains:
            raise SettingError(
                f"this version defines no domain {name!r}: {nearest(name, self.domains)}. To add one, "
                f"give its table, +version.domains.{name}={{heuristic:NAME,parameters:{{...}}}}, and "
                "name the result with custom=NAME"
            )
        return self.domains[name]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as digested; domains keep the version's order."""
        return {
            "max_expansions": self.limits.max_expansions,
            "max_frontier": self.limits.max_frontier,
            "ties": self.ties,
            "fallback": self.fallback,
            "wording": self.wording,
            "domains": {name: domain.as_dict() for name, domain in self.domains.items()},
        }

    @property
    def digest(self) -> str:
        """SHA-256 of the definition; equal definitions have equal digests whatever their name."""
        return digest_of(self.as_dict())


class _Digested(Protocol):
    """A definition of a suite or of a part of one."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""

    @property
    def digest(self) -> str:
        """Its digest."""


def is_official(version: str) -> bool:
    """Whether records of this version name a released definition, whose digest is pinned. What is
    not is somebody's own: a setting overridden (``custom-...``) or a version file of theirs."""
    return version in PINNED


def name_run(
    released: str, official: _Digested, resolved: _Digested, custom: str | None, pinned: str | None
) -> str:
    """The version name that records carry: the released one, or ``custom-<name>``.

    ``pinned`` is the digest of a released definition (None when it is none); ``official`` is the
    definition as the version's file states it, ``resolved`` the one after overrides. Raises
    SettingError with each difference when they differ and no custom name was given, when a name is
    given for no difference, and when a released file was edited.
    """
    if pinned is not None and official.digest != pinned:
        raise SettingError(
            f"conf/version/{released}.yaml is not the released definition (digest {official.digest[:16]}, "
            f"pinned {pinned[:16]}). A released version never changes: undo the edit, or copy the file to a "
            "new version"
        )
    changed = list(differences(official.as_dict(), resolved.as_dict()))
    if custom is None:
        if changed:
            raise SettingError(
                f"these settings differ from version {released}: {'; '.join(changed)}. A run with them is "
                "custom: name it with custom=NAME and its records go under custom-NAME"
            )
        return released
    if not _NAME.fullmatch(custom):
        raise SettingError(
            f"custom={custom!r}: a name has letters, digits, '.', '_' and '-', starts with a letter or "
            "digit, and has at most 64 of them"
        )
    if not changed:
        raise SettingError(
            f"custom={custom} was given but nothing differs from version {released}: leave custom out, or "
            "override a setting of the version"
        )
    return f"custom-{custom}"


def _domain(name: str, entry: Any) -> DomainDefinition:
    where = f"version.domains.{name}"
    if not isinstance(entry, Mapping):
        raise SettingError(f"{where} must hold heuristic and parameters, not {entry!r}")
    known = ("heuristic", "parameters", "representation")
    for key in entry:
        if key not in known:
            raise SettingError(f"{where}.{key} is no setting: {nearest(str(key), known)}")
    if not isinstance(entry.get("heuristic"), str):
        raise SettingError(f"{where}.heuristic must name a heuristic, not {entry.get('heuristic')!r}")
    if not isinstance(entry.get("parameters"), Mapping):
        raise SettingError(f"{where}.parameters must be a mapping, not {entry.get('parameters')!r}")
    representation = entry.get("representation")
    if representation is not None and not isinstance(representation, str):
        raise SettingError(f"{where}.representation must name a representation, not {representation!r}")
    return DomainDefinition(entry["heuristic"], dict(entry["parameters"]), representation)


def _at_least(data: Mapping[str, Any], key: str, least: int) -> int:
    value = data[key]
    if type(value) is not int or value < least:
        raise SettingError(f"version.{key}={value!r}: must be a whole number of at least {least}")
    return value
