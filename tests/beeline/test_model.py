"""Making models from configs, ours and a stranger's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from beeline.errors import SettingError
from beeline.model import Model, make_model
from beeline.overrides import with_defaults
from beeline.question import Answer, Question
from tests.shared import ROOT

CONFIGS = sorted((ROOT / "conf" / "model").glob("*.yaml"))
#: What a user must add to a config that names no server or function.
NEEDED = {
    "local": {"base_url": "http://127.0.0.1:8000/v1", "id": "m"},
    "local_chat": {"base_url": "http://127.0.0.1:8000/v1", "id": "m"},
    "fireworks": {"id": "m"},
    "python": {"function": "tests.protocols.functions:first"},
}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.stem)
def test_every_config_makes_a_model(path: Any) -> None:
    config = with_defaults(path)
    assert isinstance(config, dict)
    model = make_model(config | NEEDED.get(path.stem, {}), ["tests"])
    assert model.name == path.stem
    assert model.max_options >= 2
    assert json.loads(json.dumps(model.describe())) == model.describe()
    assert model.model_id in repr(model)
    # The engine asks in the way that the placement says.
    own = type(model).answer if model.placement == "loop" else type(model).answer_now
    assert own not in (Model.answer, Model.answer_now)


class Stranger(Model):
    def __init__(self, name: str) -> None:
        self.name = name
        self.model_id = "stranger"

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any], plugins: tuple[str, ...] = ()) -> Stranger:
        return cls(name)

    def describe(self) -> dict[str, Any]:
        return {}


def test_a_model_from_elsewhere_needs_its_package_named() -> None:
    config = {"name": "s", "target": "tests.beeline.test_model:Stranger"}
    with pytest.raises(SettingError, match=r"add plugins=\[tests\]"):
        make_model(config)
    model = make_model(config, ["tests"])
    assert type(model).__name__ == "Stranger"
    asked = Question("", "", "", "", ("a", "b"))
    with pytest.raises(NotImplementedError, match="answer"):
        model.answer_now(asked)
    with pytest.raises(NotImplementedError, match="answer_now"):
        asyncio.run(model.answer(asked))
    model.check()
    asyncio.run(model.open())
    asyncio.run(model.close())


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"name": "a/b", "target": "x:Y"}, "model.name='a/b' cannot name records"),
        ({"name": "..", "target": "x:Y"}, "cannot name records"),
        ({"name": "", "target": "x:Y"}, "cannot name records"),
        ({"name": None, "target": "x:Y"}, "cannot name records"),
        ({"name": "x" * 101, "target": "x:Y"}, "cannot name records"),
        ({"name": "oracle", "target": "x:Y"}, "model.name=oracle means something else"),
        ({"name": "none", "target": "x:Y"}, "model.name=none means something else"),
        ({"name": "m"}, "model.target=None does not name a class"),
        ({"name": "m", "target": "os:system"}, "may not be imported"),
        ({"name": "m", "target": "beeline.question:Answer"}, "is not a model"),
        ({"name": "m", "target": "protocols.settings:read_settings"}, "is not a model"),
    ],
)
def test_configs_that_are_refused(config: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        make_model(config)


def test_an_answer_is_empty_and_unknown_by_default() -> None:
    answer = Answer()
    assert (answer.probabilities, answer.input_tokens, answer.cost_usd, answer.problem) == (
        {},
        None,
        None,
        None,
    )
