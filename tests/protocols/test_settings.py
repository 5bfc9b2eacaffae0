from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from beeline.errors import SettingError
from protocols.settings import read_settings, setting


@dataclass(frozen=True, kw_only=True)
class Example:
    url: str = setting(missing="Type url=ADDRESS")
    tries: int = setting(3, least=1, most=9)
    wait_s: float = setting(0.5, above=0)
    names: tuple[str, ...] = setting(())
    key: str | None = setting(None)
    price: float | None = setting(None, least=0)
    loud: bool = setting(False)


def test_reads_what_yaml_gives() -> None:
    read = read_settings(
        Example, {"url": "x", "tries": 9, "wait_s": 2, "names": ["a", "b"], "key": None, "price": 0}
    )
    assert read == Example(url="x", tries=9, wait_s=2.0, names=("a", "b"), key=None, price=0.0, loud=False)
    assert isinstance(read.wait_s, float)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tries": 0}, "model.tries=0 must be 1 or more and at most 9"),
        ({"tries": 10}, "model.tries=10 must be 1 or more and at most 9"),
        ({"tries": 1.5}, "model.tries=1.5 must be a whole number"),
        ({"tries": True}, "model.tries=True must be a whole number"),
        ({"tries": "abc"}, "model.tries='abc' must be a whole number"),
        ({"tries": None}, "model.tries=None must be a whole number"),
        ({"wait_s": 0}, "model.wait_s=0 must be above 0"),
        ({"wait_s": float("nan")}, "model.wait_s=nan must be a finite number"),
        ({"wait_s": float("inf")}, "model.wait_s=inf must be a finite number"),
        ({"names": "a"}, "model.names='a' must be a list such as [a,b]"),
        ({"names": ["a", 1]}, "must be a text"),
        ({"key": " "}, "model.key=' ' must be a text that is not empty"),
        ({"key": 7}, "or null"),
        ({"price": -0.1}, "model.price=-0.1 must be 0 or more"),
        ({"loud": "yes"}, "model.loud='yes' must be true or false"),
        ({"prise": 1}, "model.prise is not a setting of this model: did you mean price"),
    ],
)
def test_refuses_with_name_value_and_what_is_allowed(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError) as caught:
        read_settings(Example, {"url": "x", **settings})
    assert said in str(caught.value)


@pytest.mark.parametrize("settings", [{}, {"url": None}])
def test_a_missing_setting_says_what_to_type(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=r"^model\.url is not set\. Type url=ADDRESS$"):
        read_settings(Example, settings)


def test_all_problems_come_together() -> None:
    with pytest.raises(SettingError) as caught:
        read_settings(Example, {"tries": 0, "wait": 1})
    assert all(part in str(caught.value) for part in ("model.tries", "model.wait ", "model.url"))
