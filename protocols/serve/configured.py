"""A model of ``conf/model`` as a function that can be served: placed as engine=ray places it.

The words are those of ``python -m beeline``: ``model=clef_flash model.backend=weights engine.address=auto``.
The processes that answer are the ones that answer a run's searches (:mod:`beeline.ray_model`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from beeline.digest import canonical
from beeline.engine import Asking, Engine
from beeline.errors import SettingError
from beeline.model import Model, make_model
from beeline.overrides import check_overrides, config_folder
from beeline.placement import PlacedAs, read_placement
from beeline.records import Cell
from beeline.resolver import resolve
from protocols.serve.functions import Function
from protocols.serve.questions import WholeBody, question_of, result_of
from protocols.serve.refusals import BadRequest, Refused

__all__ = ["answering", "configured"]

_GROUPS = ("model", "engine", "plugins")


def configured(overrides: Sequence[str]) -> tuple[Model, bool]:
    """The model that ``overrides`` describe, as one that is asked where it is placed, not opened; and
    whether it reads whole bodies. Raises SettingError."""
    config = _compose(overrides)
    plugins = config["plugins"]
    if not isinstance(plugins, list) or not all(isinstance(name, str) for name in plugins):
        raise SettingError(f"plugins={plugins!r}: must be a list of package names, plugins=[my_package]")
    engine_config = dict(config["engine"])
    engine_name, target = engine_config.pop("name", None), engine_config.pop("target", None)
    made = resolve(str(target), plugins)
    if not (isinstance(made, type) and issubclass(made, Engine) and made.places):
        raise SettingError(
            f"engine={engine_name} places no model, and a model is served from where it is placed: leave "
            "it out"
        )
    engine = made.from_settings(engine_config)
    model = make_model(config["model"], plugins)
    if model.at_home:
        raise SettingError("model.replay answers what was asked before, from a folder: leave it out")
    if model.caps() is not None:
        raise SettingError(
            f"model {model.name} is behind a host already, and asking it may cost you: what is served is a "
            "model that computes (model=clef model.backend=weights, model=python, model=sparrow)"
        )
    placed = read_placement(config["model"].get("placement") or model.needs) or PlacedAs()
    cell = Cell("", model.name, "serve", "", "")
    asking = Asking(model, canonical(config["model"]), cell, plugins=tuple(plugins), placed=placed)
    return engine.reach(asking), bool(getattr(model, "reads_bodies", False))


def answering(model: Model, whole: bool) -> Function:
    """The function of one body that asks ``model``; many at once. ``whole``: bodies as they come."""

    async def ask_whole(body: dict[str, Any]) -> Any:
        answer = await model.answer(WholeBody.of(body))
        reply = json.loads(answer.raw or b"{}")
        if "detail" in reply:
            raise Refused(reply["status"], reply["detail"])
        return reply

    async def ask_each(body: dict[str, Any]) -> Any:
        answered = ", ".join(model.kinds)
        kinds = {name: asked["type"] for name, asked in body["questions"].items()}
        for name, kind in kinds.items():
            if kind not in model.kinds:
                raise BadRequest(
                    f"The question {name!r:.100} is a {kind}, and this model answers {answered} only"
                )
        questions = {name: question_of(body, name) for name in kinds}
        # Nobody is asked where there is no choice.
        open_ones = {name: q for name, q in questions.items() if len(q.options) > 1}
        answers = await _all([model.answer(question) for question in open_ones.values()])
        found = dict(zip(open_ones, answers, strict=True))
        usage = {
            count: sum(getattr(answer, count) or 0 for answer in answers)
            for count in ("input_tokens", "output_tokens")
        }
        results = {
            name: result_of(question, found[name]) if name in found else [1.0]
            for name, question in questions.items()
        }
        return {"answers": results, "usage": usage}

    return Function(ask_whole if whole else ask_each, True, f"The model {model.name} ({model.model_id})")


async def _all(waits: Sequence[Any]) -> list[Any]:
    """What they return; the first error ends the others."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


def _compose(overrides: Sequence[str]) -> Mapping[str, Any]:
    """The groups that matter here; the engine is Ray unless something else is said."""
    heads = [word.lstrip("+~").partition("=")[0].split(".")[0] for word in overrides]
    for word, head in zip(overrides, heads, strict=True):
        if head not in _GROUPS and not word.startswith("hydra.searchpath="):
            raise SettingError(f"{word}: a server has the settings of {', '.join(_GROUPS)} only")
    if not any(word.startswith("model=") for word in overrides):
        raise SettingError("name the model that is to be served: model=NAME, as for python -m beeline")
    engine = [] if any(word.startswith("engine=") for word in overrides) else ["engine=ray"]
    words = [*engine, *overrides]
    check_overrides(words)

    import hydra
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        with hydra.initialize_config_dir(str(config_folder()), job_name="serve", version_base="1.3"):
            config = hydra.compose("config", words)
        plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except (HydraException, OmegaConfBaseException) as error:
        raise SettingError(str(error).splitlines()[0]) from error
    assert isinstance(plain, dict)
    return {group: plain[group] for group in _GROUPS}
