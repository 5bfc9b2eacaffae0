"""Find the function that is to be served."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beeline.errors import SettingError
from beeline.resolver import resolve
from protocols.failures import clean

__all__ = ["Function", "load"]


@dataclass(frozen=True)
class Function:
    """A function and how it is called."""

    call: Callable[[Any], Any]
    asynchronous: bool
    """``async def``, or an object whose ``__call__`` is."""
    about: str
    """The first line of its docstring; empty without one."""


def load(target: str) -> Function:
    """Import ``module:function``. Raises SettingError: a name on a command line is typed by
    somebody who trusts it, so any module may be named."""
    try:
        found = resolve(target, [target.split(":")[0].split(".")[0]])
    except SettingError:
        raise
    except Exception as error:
        raise SettingError(f"importing {target.split(':')[0]} raised {_where(error)}") from error
    if inspect.isclass(found) or not callable(found):
        what = "a class" if inspect.isclass(found) else f"of type {type(found).__name__}"
        raise SettingError(f"{target} is {what}, not a function: name a function, or an object with __call__")
    asynchronous = inspect.iscoroutinefunction(found) or inspect.iscoroutinefunction(
        getattr(found, "__call__", None)  # noqa: B004 - an object with an async __call__
    )
    about = (inspect.getdoc(found) or "").strip().splitlines()
    return Function(found, asynchronous, clean(about[0], 200) if about else "")


def _where(error: Exception) -> str:
    text = clean(str(error))
    named = f"{type(error).__name__}: {text}" if text else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) or not frames:
        return named
    return f"{named} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"
