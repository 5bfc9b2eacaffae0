"""A composed config, checked and turned into typed values: nothing below reads the config tree.

Every check that needs no model, data or network is made here, so that a wrong setting is refused
before anything runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beeline.cache import cache_folder
from beeline.digest import canonical, digest_of
from beeline.engine import Engine
from beeline.errors import SettingError, nearest
from beeline.model import Model, make_model
from beeline.overrides import config_folder
from beeline.placement import PlacedAs, read_placement
from beeline.problem import Domain
from beeline.rerun import RERUNS
from beeline.resolver import resolve
from beeline.services import Caps
from beeline.study import Study
from beeline.versions import PINNED, Definition, name_run
from beeline.world_version import PINNED_WORLDS, FamilyDefinition, read_worlds

__all__ = ["MAX_TRIALS", "NO_MODEL", "Spec", "read_spec"]

MAX_TRIALS = 100
"""Trials of a version: 1 to this."""
NO_MODEL = "none"

_GROUPS = ("domain", "model", "version", "study", "engine", "tracking")
_SETTINGS = (
    *_GROUPS,
    "trials",
    "results",
    "traces",
    "archive",
    "cache",
    "reuse",
    "rerun",
    "spend",
    "suite",
    "custom",
    "plugins",
)
_SUITES = ("navigation", "worlds")
_SPEND = ("max_usd", "max_tokens", "max_requests")


class LeftOut(Exception):
    """The domain belongs to another suite than the setting ``suite`` asks for."""


@dataclass(frozen=True, slots=True)
class Spec:
    """One run, ready to be planned."""

    domain_name: str
    domain_target: str
    domain: Domain
    model: Model | None
    model_config: Mapping[str, Any] | None
    version: str
    """As records carry it: the released name or ``custom-<name>``."""
    definition: Definition
    """Of the navigation suite."""
    family: FamilyDefinition | None
    """Of the family, when the domain is one of worlds."""
    study: Study
    engine: Engine
    """Not started."""
    engine_key: str
    """Equal for specs that can share an engine."""
    placed: PlacedAs | None
    """Where the model is to be, if it is not asked from here."""
    tracking: Mapping[str, Any]
    trials: int
    results: Path
    traces: bool
    archive: bool
    """Keep every reply."""
    rerun: str | None
    """One of beeline.rerun.RERUNS, or None."""
    caps: Caps
    """Of all models of the results folder together."""
    cache: bool
    suite: str | None
    plugins: tuple[str, ...]

    @property
    def decided_by(self) -> Definition | FamilyDefinition:
        """The definition that decides what this run's trials are."""
        return self.definition if self.family is None else self.family

    @property
    def model_name(self) -> str:
        """The short name that records carry."""
        return self.model.name if self.model is not None else NO_MODEL

    def as_dict(self) -> dict[str, Any]:
        """What decides the outcome, as plain data without secrets or places."""
        return {
            "version": self.version,
            "definition": self.decided_by.as_dict(),
            "domain": {"name": self.domain_name, "target": self.domain_target},
            "model": None
            if self.model is None
            else {"name": self.model.name, "model_id": self.model.model_id, **self.model.describe()},
            "study": self.study.name,
            "conditions": [c.as_dict() for c in self.study.conditions_for(self)],
        }

    @property
    def digest(self) -> str:
        """SHA-256 of :meth:`as_dict`."""
        return digest_of(self.as_dict())


def read_spec(config: Mapping[str, Any]) -> Spec:
    """Check a resolved config. Raises SettingError naming the setting and what is allowed."""
    for key in config:
        if key not in _SETTINGS:
            raise SettingError(f"there is no setting {key!r}: {nearest(str(key), _SETTINGS)}")
    plugins = config["plugins"]
    if not isinstance(plugins, list) or not all(isinstance(p, str) for p in plugins):
        raise SettingError(f"plugins={plugins!r}: must be a list of package names, plugins=[my_package]")
    allowed = tuple(plugins)
    domain_config = _group(config, "domain", ("name", "target"))
    study_config = dict(_mapping(config, "study"))
    version_config = dict(_mapping(config, "version"))
    released = str(version_config.pop("name", ""))
    families = read_worlds(version_config.pop("worlds", None))
    definition = Definition.read(version_config)
    custom = _text(config, "custom")
    engine_config = dict(_mapping(config, "engine"))
    engine_key = canonical(engine_config)
    engine = _engine(engine_config, allowed)
    name = str(domain_config["name"])
    made = resolve(str(domain_config["target"]), allowed)
    belongs, wanted = getattr(made, "suite", "navigation"), _suite(config)
    if wanted is not None and wanted != belongs:
        raise LeftOut(f"{name} is left out: it belongs to the suite {belongs}")
    family = None
    official, official_families = _official(released, definition, families)
    if belongs == "worlds":
        if not families:
            raise SettingError(f"version {released} defines no worlds, so not {name}: choose version=1.0.0")
        if name not in families:
            raise SettingError(f"version {released} defines no family {name!r}: {nearest(name, families)}")
        family = families[name]
        theirs = official_families.get(name, family)
        version = name_run(released, theirs, family, custom, PINNED_WORLDS.get(released, {}).get(name))
        domain = made("reference", family.parameters)
    else:
        version = name_run(released, official, definition, custom, PINNED.get(released))
        entry = definition.domain(name)
        domain = made(entry.heuristic, entry.parameters)
    study = _study(study_config, allowed)
    model, placed = None, None
    model_config = None
    if study.asks_model:
        model_config = dict(_mapping(config, "model"))
        if _switch(config, "reuse"):
            if model_config.get("replay") is not None:
                raise SettingError("reuse=on and model.replay exclude each other: a replay asks nobody")
            model_config["reuse"] = str(cache_folder().with_name("answers") / "answers.sqlite")
        model = make_model(model_config, allowed)
        if domain.suite not in model.suites:
            raise SettingError(
                f"model {model.name} answers the suites {', '.join(model.suites)}; domain {name} belongs to "
                f"{domain.suite}"
            )
        if domain.suite == "navigation" and model.max_options < definition.limits.max_frontier:
            raise SettingError(
                f"model {model.name} holds {model.max_options} options a question, and a frontier of version "
                f"{version} holds up to {definition.limits.max_frontier}: it cannot be run (options are "
                "never left out)"
            )
        wants = model_config.get("placement")
        if wants and not engine.places:
            raise SettingError("model.placement says where a model is to be: that takes engine=ray")
        placed = read_placement(wants or (model.needs if engine.places else None))
        if study.needs_key and placed is None:  # else it is checked where it is placed
            model.check()
    return Spec(
        domain_name=name,
        domain_target=str(domain_config["target"]),
        domain=domain,
        model=model,
        model_config=model_config,
        version=version,
        definition=definition,
        family=family,
        study=study,
        engine=engine,
        engine_key=engine_key,
        placed=placed,
        tracking=_mapping(config, "tracking"),
        trials=_trials(config["trials"], study, getattr(domain, "trials", MAX_TRIALS)),
        results=Path(str(config["results"])),
        traces=_switch(config, "traces"),
        archive=_switch(config, "archive"),
        rerun=_rerun(config),
        caps=_caps(_mapping(config, "spend")),
        cache=_switch(config, "cache"),
        suite=wanted,
        plugins=allowed,
    )


def _official(
    released: str, fallback: Definition, families: dict[str, FamilyDefinition]
) -> tuple[Definition, dict[str, FamilyDefinition]]:
    """The definitions as the version's own file states them."""
    from omegaconf import OmegaConf

    path = config_folder() / "version" / f"{released}.yaml"
    if not path.is_file():
        return fallback, families  # a version of somebody else's package: its file is what was composed
    data = OmegaConf.to_container(OmegaConf.load(path), resolve=True)
    assert isinstance(data, dict)
    data.pop("name", None)
    worlds = read_worlds(data.pop("worlds", None))
    return Definition.read({str(k): v for k, v in data.items()}), worlds


def _mapping(config: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = config.get(key)
    if not isinstance(value, Mapping):
        raise SettingError(f"{key} must name one of the options of conf/{key}, not {value!r}")
    return value


def _group(config: Mapping[str, Any], group: str, known: tuple[str, ...]) -> Mapping[str, Any]:
    value = _mapping(config, group)
    for key in value:
        if key not in known:
            raise SettingError(f"there is no setting {group}.{key}: {nearest(str(key), known)}")
    for key in known:
        if key not in value:
            raise SettingError(f"{group}.{key} is missing")
    return value


def _study(config: dict[str, Any], plugins: tuple[str, ...]) -> Study:
    name, target = config.pop("name", None), config.pop("target", None)
    if not isinstance(name, str) or not isinstance(target, str):
        raise SettingError("study needs a name and a target, as in conf/study/score.yaml")
    made = resolve(target, plugins)
    if not (isinstance(made, type) and issubclass(made, Study)):
        raise SettingError(f"study.target={target} is not a study: it must derive from beeline.study.Study")
    return made.from_settings({str(key): value for key, value in config.items()})


def _engine(config: dict[str, Any], plugins: tuple[str, ...]) -> Engine:
    name, target = config.pop("name", None), config.pop("target", None)
    if not isinstance(name, str) or not isinstance(target, str):
        raise SettingError("engine needs a name and a target, as in conf/engine/local.yaml")
    made = resolve(target, plugins)
    if not (isinstance(made, type) and issubclass(made, Engine)):
        raise SettingError(
            f"engine.target={target} is not an engine: it must derive from beeline.engine.Engine"
        )
    return made.from_settings({str(key): value for key, value in config.items()})


def _trials(value: Any, study: Study, most: int) -> int:
    if value is None:
        return min(study.trials, most)
    if type(value) is not int or not 1 <= value <= most:
        raise SettingError(f"trials={value}: must be a whole number from 1 to {most}")
    return value


def _switch(config: Mapping[str, Any], key: str) -> bool:
    value = config[key]
    words = {"on": True, "off": False, "yes": True, "no": False}
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    if not isinstance(value, bool):
        raise SettingError(f"{key}={value}: must be on or off")
    return value


def _rerun(config: Mapping[str, Any]) -> str | None:
    value = config["rerun"]
    if value is not None and value not in RERUNS:
        raise SettingError(f"rerun={value} is no way to run again: {nearest(str(value), RERUNS)}")
    if value == "untraced" and not _switch(config, "traces"):
        raise SettingError(
            "rerun=untraced with traces=off would run the same trials again each time: set traces=on"
        )
    return None if value is None else str(value)


def _suite(config: Mapping[str, Any]) -> str | None:
    value = _text(config, "suite")
    if value is not None and value not in _SUITES:
        raise SettingError(f"suite={value} is no suite: {nearest(value, _SUITES)}")
    return value


def _caps(values: Mapping[str, Any]) -> Caps:
    for key in values:
        if key not in _SPEND:
            raise SettingError(f"there is no setting spend.{key}: {nearest(str(key), _SPEND)}")
    usd, tokens, requests = (values.get(key) for key in _SPEND)
    number = usd is None or (isinstance(usd, int | float) and not isinstance(usd, bool) and 0 <= usd < 1e9)
    if not number:
        raise SettingError(f"spend.max_usd={usd!r}: must be US dollars, 0 or more, or null for no cap")
    for key, value in (("max_tokens", tokens), ("max_requests", requests)):
        if value is not None and (type(value) is not int or value < 0):
            raise SettingError(
                f"spend.{key}={value!r}: must be a whole number, 0 or more, or null for no cap"
            )
    return Caps(None if usd is None else float(usd), tokens, requests)


def _text(config: Mapping[str, Any], key: str) -> str | None:
    value = config[key]
    return None if value is None else str(value)
