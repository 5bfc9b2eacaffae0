"""Check a command line before Hydra composes it, to say which names are valid.

Hydra refuses what it does not know too; this says it in one sentence with the nearest names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from beeline.errors import SettingError, nearest

__all__ = ["check_overrides", "config_folder", "with_defaults"]

_OVERRIDE = re.compile(r"(?P<sign>[+~]{0,2})(?P<key>[\w./@:-]+)(=(?P<value>.*))?", re.DOTALL)
_SHARED = "defaults"
"""A folder of conf/ that is no group: what several options of a group have in common."""
_SIMPLE = re.compile(r"[\w.,-]+")


def config_folder() -> Path:
    """The repository's conf/ if it is there, else the copy inside the installed package."""
    here = Path(__file__).resolve().parent
    beside = here.parent / "conf"
    return beside if (beside / "config.yaml").is_file() else here / "conf"


def check_overrides(arguments: Sequence[str]) -> None:
    """Raise SettingError for an unknown group, option or key of our own config tree."""
    from omegaconf import OmegaConf

    folder = config_folder()
    top = _plain(OmegaConf.load(folder / "config.yaml"))
    groups = sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name != _SHARED)
    chosen = {key: str(value) for entry in top.pop("defaults") for key, value in _group_of(entry)}
    top.pop("hydra")
    parsed = []
    foreign = False
    for argument in arguments:
        if argument.startswith("--") and _OVERRIDE.fullmatch(argument[2:]) and "=" in argument:
            key = argument[2:].partition("=")[0]
            if key.split(".")[0] in (*groups, *top):
                raise SettingError(f"{argument}: settings have no dashes, write {argument[2:]}")
        if argument.startswith("-"):
            continue
        match = _OVERRIDE.fullmatch(argument)
        if match is None or (match["value"] is None and not match["sign"].startswith("~")):
            raise SettingError(f"{argument!r} is no override: write key=value, such as domain=tiles")
        parsed.append(match)
        foreign |= match["key"].startswith("hydra.searchpath")
        if match["key"] in groups and match["value"] and not match["sign"]:
            chosen[match["key"]] = match["value"].strip("'\"")
    for match in parsed:
        key, value = match["key"], (match["value"] or "").strip("'\"")
        head, *rest = key.split(".")
        if match["sign"] or head == "hydra" or head.startswith("hydra/"):
            continue
        if head not in groups and head not in top:
            within = [g for g in groups if head in _settings_of(folder, g, chosen)]
            meant = f"did you mean {within[0]}.{key}?" if within else nearest(head, [*groups, *top])
            raise SettingError(f"there is no setting {head!r}: {meant}")
        if foreign:
            continue
        if key in groups:
            options = [path.stem for path in (folder / key).glob("*.yaml")]
            if value == "?":
                raise SettingError(f"{key}: one of {', '.join(sorted(options))}")
            for option in value.split(",") if _SIMPLE.fullmatch(value) else ():
                if option not in options:
                    raise SettingError(f"{key}={option}: there is no such {key}: {nearest(option, options)}")
        elif rest and head not in groups and not _in(top.get(head), rest):
            known = top[head] if isinstance(top[head], dict) else {}
            if known:
                raise SettingError(f"there is no setting {key}: {nearest(rest[0], known)}")
            raise SettingError(f"{head} has no settings of its own: write {head}=VALUE")
        elif rest and head in groups and _SIMPLE.fullmatch(chosen.get(head, "")):
            for option in chosen[head].split(","):
                if not _in(top.get(head), rest):
                    _check_path(folder / head / f"{option}.yaml", head, rest)


def _settings_of(folder: Path, group: str, chosen: Mapping[str, str]) -> dict[str, Any]:
    """The settings of the chosen option of a group; none for a sweep or a foreign option."""
    path = folder / group / f"{chosen.get(group, '')}.yaml"
    return with_defaults(path) if path.is_file() else {}


def _check_path(path: Path, group: str, rest: Sequence[str]) -> None:
    at: Any = with_defaults(path) if path.is_file() else None
    where = group
    for part in rest:
        if not isinstance(at, dict) or (not at and where != group):
            return
        if part not in at:
            raise SettingError(f"{path.stem} has no setting {where}.{part}: {nearest(part, map(str, at))}")
        at, where = at[part], f"{where}.{part}"


def _in(at: Any, rest: Sequence[str]) -> bool:
    for part in rest:
        if not isinstance(at, dict) or part not in at:
            return False
        at = at[part]
    return True


def with_defaults(path: Path) -> dict[str, Any]:
    """A file's keys with those of the shared files that its defaults list names."""
    from omegaconf import OmegaConf

    found = _plain(OmegaConf.load(path))
    shared: dict[str, Any] = {}
    for entry in found.pop("defaults", []):
        if isinstance(entry, str) and entry.startswith(f"/{_SHARED}/"):
            name = entry.removeprefix("/").partition("@")[0]
            shared |= with_defaults(config_folder() / f"{name}.yaml")
    return shared | found


def _plain(config: Any) -> dict[str, Any]:
    from omegaconf import OmegaConf

    data = OmegaConf.to_container(config, resolve=False)
    assert isinstance(data, dict)
    return {str(key): value for key, value in data.items()}


def _group_of(entry: Any) -> list[tuple[str, Any]]:
    if not isinstance(entry, dict):
        return []
    return [(str(k), v) for k, v in entry.items() if not str(k).startswith("override ")]
