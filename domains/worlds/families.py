"""The families of this package, found by looking: every sub-package that defines one."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import domains.worlds
from beeline.errors import SettingError, nearest
from beeline.world_domain import WorldDomain

__all__ = ["UNCERTIFIED", "family_class", "family_names"]

UNCERTIFIED = {"edition": 1, "manifest": ""}
"""Parameters under which instances are drawn and verified anew."""


def family_names() -> list[str]:
    """Names of the sub-packages, sorted."""
    return sorted(found.name for found in pkgutil.iter_modules(domains.worlds.__path__) if found.ispkg)


def family_class(name: str) -> type[WorldDomain[Any]]:
    """The family's class; SettingError when there is none of this name."""
    if name not in family_names():
        raise SettingError(f"there is no family {name!r}: {nearest(name, family_names())}")
    module = importlib.import_module(f"domains.worlds.{name}")
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, WorldDomain) and value.__module__ == module.__name__:
            return value
    raise SettingError(f"domains.worlds.{name} defines no WorldDomain")
