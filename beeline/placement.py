"""Where a model wants to be: ``model.placement={num_gpus: 1}`` under an engine that can place it.

A placed model lives in processes of its own, on nodes that have what it needs, and every search
asks it there. What arrives together can be answered together, if the model does so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from beeline.errors import SettingError, nearest

__all__ = ["PlacedAs", "read_placement"]

_KEYS = ("num_gpus", "num_cpus", "resources", "replicas")


@dataclass(frozen=True, slots=True)
class PlacedAs:
    """What each of ``replicas`` processes needs of its node."""

    num_gpus: float = 0.0
    num_cpus: float = 0.0
    resources: Mapping[str, float] = field(default_factory=dict)
    """Custom resources of the cluster by name."""
    replicas: int = 1

    def wanted(self) -> dict[str, float]:
        """All of it, by the names that Ray's nodes use."""
        named = {"GPU": self.num_gpus, "CPU": self.num_cpus, **self.resources}
        return {name: amount for name, amount in named.items() if amount}


def read_placement(value: Any) -> PlacedAs | None:
    """From a config's mapping; None and an empty mapping ask for nothing. Raises SettingError."""
    if not value:
        return None
    if not isinstance(value, Mapping):
        raise SettingError(f"model.placement={value!r}: must be a mapping such as {{num_gpus: 1}}")
    for key in value:
        if key not in _KEYS:
            raise SettingError(f"there is no setting model.placement.{key}: {nearest(str(key), _KEYS)}")
    resources = value.get("resources") or {}
    if not isinstance(resources, Mapping):
        raise SettingError(f"model.placement.resources={resources!r}: must be a mapping such as {{tpu: 1}}")
    replicas = value.get("replicas", 1)
    if type(replicas) is not int or not 1 <= replicas <= 1024:
        raise SettingError(f"model.placement.replicas={replicas!r}: must be a whole number from 1 to 1024")
    return PlacedAs(
        _amount("num_gpus", value.get("num_gpus", 0)),
        _amount("num_cpus", value.get("num_cpus", 0)),
        {str(name): _amount(f"resources.{name}", amount) for name, amount in resources.items()},
        replicas,
    )


def _amount(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e6:
        raise SettingError(f"model.placement.{name}={value!r}: must be a number, 0 or more")
    if value > 1 and value != int(value):
        raise SettingError(f"model.placement.{name}={value!r}: above 1, it must be a whole number")
    return float(value)
