"""Strict reading of a model's settings into a frozen dataclass.

Settings come from YAML and the command line, so a slip is likely: every unknown key, wrong type
and value out of range is refused before anything runs, naming the setting, its value and what
is allowed. Several problems are reported together.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, field, fields
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from beeline.errors import SettingError, nearest

__all__ = ["read_settings", "setting"]

T = TypeVar("T")


def setting(
    default: Any = MISSING,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    missing: str | None = None,
    blank: bool = False,
) -> Any:
    """A dataclass field with bounds.

    ``least`` and ``most`` are included, ``above`` is not. ``blank`` lets a text be empty or end
    in blanks. ``missing`` is what to do when a
    setting without a default is absent or null, appended to the error.
    """
    return field(
        default=default,
        metadata={"least": least, "above": above, "most": most, "missing": missing, "blank": blank},
    )


def read_settings(cls: type[T], settings: Mapping[str, Any], where: str = "model") -> T:
    """An instance of the dataclass ``cls`` made from ``settings``.

    Known types: str, int, float (an integer will do), bool, ``tuple[str, ...]`` (from a list),
    ``Mapping[str, str]`` and any of these or None. Null for a setting without a default counts
    as missing. Raises SettingError with one sentence a problem.
    """
    known: dict[str, Field[Any]] = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
    hints = get_type_hints(cls)
    problems: list[str] = []
    advice: list[str] = []
    values: dict[str, Any] = {}
    for key, value in settings.items():
        if key not in known:
            problems.append(f"{where}.{key} is not a setting of this {where}: {nearest(str(key), known)}")
            continue
        if value is None and known[key].default is MISSING:
            continue
        try:
            if known[key].metadata.get("blank") and isinstance(value, str):
                values[key] = value
                continue
            values[key] = _bounded(_typed(value, hints[key]), known[key].metadata)
        except ValueError as error:
            problems.append(f"{where}.{key}={value!r} must be {error}")
    for name, known_field in known.items():
        if known_field.default is MISSING and name not in values and settings.get(name) is None:
            problems.append(f"{where}.{name} is not set")
            hint = known_field.metadata.get("missing")
            if hint and not advice:  # one thing to do at a time
                advice.append(hint)
    if problems:
        raise SettingError("; ".join(problems) + "".join(f". {hint}" for hint in advice))
    return cls(**values)


def _typed(value: Any, hint: Any) -> Any:
    """``value`` as ``hint`` wants it; ValueError says what would be allowed."""
    if get_origin(hint) in (Union, types.UnionType):
        inner = [arg for arg in get_args(hint) if arg is not type(None)]
        if value is None:
            return None
        try:
            return _typed(value, inner[0])
        except ValueError as error:
            raise ValueError(f"{error}, or null") from None
    if hint is bool:
        if isinstance(value, bool):
            return value
        raise ValueError("true or false")
    if hint is int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise ValueError("a whole number")
    if hint is float:
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
        raise ValueError("a finite number")
    if hint is str:
        if isinstance(value, str) and value.strip():
            return value
        # YAML and Hydra read 123 as a number; guessing the text back would lose 007 and 1e3.
        raise ValueError("a text that is not empty (quote a number: \"'123'\")")
    if hint == tuple[str, ...]:
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            return tuple(_typed(item, str) for item in value)
        raise ValueError("a list such as [a,b]")
    if hint == Mapping[str, str]:
        if isinstance(value, Mapping) and all(isinstance(v, str) and v for kv in value.items() for v in kv):
            return dict(value)
        raise ValueError("a mapping from text to text such as {'/': '|'}")
    raise TypeError(f"settings of type {hint} are not supported")


def _bounded(value: Any, bounds: Mapping[str, Any]) -> Any:
    least, above, most = bounds.get("least"), bounds.get("above"), bounds.get("most")
    if value is None or not isinstance(value, int | float):
        return value
    too_low = (least is not None and value < least) or (above is not None and value <= above)
    if not too_low and (most is None or value <= most):
        return value
    low = f"{least} or more" if least is not None else f"above {above}" if above is not None else ""
    high = f"at most {most}" if most is not None else ""
    raise ValueError(" and ".join(part for part in (low, high) if part))
