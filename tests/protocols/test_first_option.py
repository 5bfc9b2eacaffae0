from __future__ import annotations

import pytest

from beeline.errors import SettingError
from beeline.model import make_model
from beeline.model_arm import option_weights
from tests.protocols.asking import question

CONFIG = {"name": "first_option", "target": "protocols.first_option:FirstOption"}


def test_takes_the_first_shown() -> None:
    model = make_model(CONFIG)
    answer = model.answer_now(question("c", "a", "b"))
    assert option_weights(answer, ("c", "a", "b")) == ([1.0, 0.0, 0.0], None)
    assert model.model_id == "first-option"


def test_has_no_settings() -> None:
    with pytest.raises(SettingError, match=r"model\.seed is not a setting"):
        make_model(CONFIG | {"seed": 1})
