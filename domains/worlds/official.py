"""Load instances of the public AlgoWorlds release, to hold our solvers against its certificates.

An instance file holds one world of one family; its certificate holds the optimum. Every rule of the
release's envelope and certificate is checked, so that a changed byte or an added key is an error.
The files are data of others (CC BY 4.0) and no part of this project.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

from beeline.errors import DataError
from beeline.world import INDEXES, LEVELS, Coordinate, Interface, World
from beeline.world_domain import WorldDomain

__all__ = ["RELEASE_KEYS", "Released", "find_released", "read_released", "released_world"]

RELEASE_KEYS: Mapping[str, str] = {
    "transit_routing": "case_01_subway_transfers",
    "basket_assembly": "case_03_basket_assembly",
    "station_siting": "case_07_station_siting",
    "authorization_planning": "case_14_override",
    "series_portfolio": "case_16_series_bundle",
    "machine_layout": "case_17_machine_layout",
    "sequential_matching": "case_18_match_pairing",
    "fleet_dispatch": "case_19_fleet_dispatch",
    "evidence_joined_routing": "case_20_evidence_join",
    "migration_portfolio": "case_21_fixed_charge_migration",
}
"""What the release calls each family in its file names."""

_ENVELOPE = {"schema_version", "case_id", "arm_index", "rung_index", "world_index", "member_key", "payload"}
_CERTIFICATE = {
    "schema_version",
    "algorithmic_world_id",
    "instance_sha256",
    "latent_instance_sha256",
    "objective_sense",
    "certified_optimum",
}
_FORBIDDEN = {
    "arm_id",
    "arm_index",
    "case_id",
    "coordinate_key",
    "discovery_floor",
    "mechanism_id",
    "private_truth",
    "rung_index",
    "schema_version",
    "template_id",
    "template_version",
    "world_index",
}


@dataclass(frozen=True, slots=True)
class Released:
    """One world of the release with its certificate."""

    family: str
    coordinate: Coordinate
    payload: Mapping[str, Any]
    costs: Mapping[str, int]
    budget: int
    optimum: int
    latent: str
    """Digest of the hidden instance in a form that the release does not disclose; equal in a pair."""

    @property
    def id(self) -> str:
        """The world's id in the release."""
        return _world_id(self.family, self.coordinate)


def find_released(root: Path) -> Iterator[tuple[str, Path, Path]]:
    """(family, instance file, certificate file) of each instance below a folder laid out as the
    release's ``cores``, in canonical order."""
    for family, key in RELEASE_KEYS.items():
        folder = root / key / "instances"
        for level in range(1, 5):
            for index in range(3):
                for arm in (0, 1):
                    path = folder / f"arm_{arm}" / f"r{level}_w{index}.json"
                    if path.is_file():
                        yield family, path, folder / "certificates" / f"arm_{arm}_r{level}_w{index}.json"


def read_released(domain: WorldDomain[Any], instance: Path, certificate: Path) -> Released:
    """Read and check both files; DataError names the file and what is wrong with it."""
    raw = _read(instance)
    data = _object(instance, raw)
    if set(data) != _ENVELOPE:
        _refuse(instance, f"its keys are not those of an instance: {sorted(set(data) ^ _ENVELOPE)}")
    arm, rung, place = data["arm_index"], data["rung_index"], data["world_index"]
    if arm not in (0, 1) or rung not in (1, 2, 3, 4) or place not in (0, 1, 2):
        _refuse(instance, "its coordinates are out of range")
    coordinate = Coordinate(LEVELS[rung - 1], INDEXES[place], list(Interface)[arm])
    key = RELEASE_KEYS[domain.name]
    expected = {
        "schema_version": "algoworlds_frozen_instance/1",
        "case_id": key,
        "member_key": f"{key}/rung-{rung}/world-{place}/arm-{arm}",
    }
    for name, value in expected.items():
        if data[name] != value:
            _refuse(instance, f"{name} is {data[name]!r}, not {value!r}")
    payload = data["payload"]
    if not isinstance(payload, dict) or "config" in payload:
        _refuse(instance, "its payload is no object of public fields")
    for name in _keys(payload):
        if name in _FORBIDDEN or name.lower().startswith("construction_") or "case_score" in name:
            _refuse(instance, f"its payload has the private key {name}")
    budget, costs = payload.get("cost_budget"), payload.get("cost_vector", payload.get("query_costs"))
    if type(budget) is not int or budget < 0:
        _refuse(instance, "cost_budget is no number of 0 or more")
    names = [tool.name for tool in domain.tools]
    if not isinstance(costs, dict) or sorted(costs) != sorted(names):
        _refuse(instance, "cost_vector does not name each information tool once")
    if not all(type(cost) is int and cost > 0 for cost in costs.values()):
        _refuse(instance, "a cost is no positive integer")
    return _certified(
        domain, certificate, sha256(raw).hexdigest(), coordinate, payload, {n: costs[n] for n in names}
    )


def _certified(
    domain: WorldDomain[Any],
    path: Path,
    digest: str,
    coordinate: Coordinate,
    payload: Mapping[str, Any],
    costs: Mapping[str, int],
) -> Released:
    data = _object(path, _read(path))
    if set(data) != _CERTIFICATE:
        _refuse(path, f"its keys are not those of a certificate: {sorted(set(data) ^ _CERTIFICATE)}")
    expected = {
        "schema_version": "algoworlds_exact_certificate/1",
        "algorithmic_world_id": _world_id(domain.name, coordinate),
        "instance_sha256": digest,
        "objective_sense": domain.sense,
    }
    for name, value in expected.items():
        if data[name] != value:
            _refuse(path, f"{name} is {data[name]!r}, not {value!r}")
    optimum = data["certified_optimum"]
    if type(optimum) is not int:
        _refuse(path, f"certified_optimum is no integer: {optimum!r}")
    return Released(
        domain.name,
        coordinate,
        payload,
        costs,
        payload["cost_budget"],
        optimum,
        data["latent_instance_sha256"],
    )


def released_world(domain: WorldDomain[Any], released: Released) -> tuple[Any, World]:
    """The hidden instance and the world of a release file, with our words and the file's row orders,
    costs and budget. DataError for a family that cannot read its payload."""
    instance, desk = domain.of_release(released.payload, released.coordinate.interface)
    world = domain.assemble(instance, released.coordinate, released.costs, released.budget, desk, released.id)
    return instance, world


def _world_id(family: str, c: Coordinate) -> str:
    return f"algoworlds/{family}/{c.level}/instance-{c.index}/{c.interface.value}"


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from _keys(part)
    elif isinstance(value, list):
        for part in value:
            yield from _keys(part)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error


def _object(path: Path, raw: bytes) -> dict[str, Any]:
    try:
        data = json.loads(raw)
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}") from error
    if not isinstance(data, dict):
        _refuse(path, "it holds no JSON object")
    return data


def _refuse(path: Path, why: str) -> NoReturn:
    raise DataError(f"{path} is not as released: {why}; fetch it again")
