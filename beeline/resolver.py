"""The one way from a name in a config to Python code.

A target is written ``package.module:Name``. Its top package must be one of beeline's own, one
listed under ``plugins`` in the config, or one registered by an installed distribution under the
entry-point group ``beeline.plugins``. Nothing else can be imported by a config, so a config from
a stranger cannot run code that its reader did not already trust. The check is made on the text,
before anything is imported.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Any

from beeline.errors import SettingError, nearest

__all__ = ["ENTRY_POINT_GROUP", "OWN_PACKAGES", "plugin_packages", "resolve"]

OWN_PACKAGES = ("beeline", "domains", "protocols", "studies", "tracking")
ENTRY_POINT_GROUP = "beeline.plugins"

_TARGET = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def plugin_packages() -> tuple[str, ...]:
    """Top packages registered under the entry-point group; an entry point's value names one
    (``my_plugin`` or ``my_plugin.domains``)."""
    return tuple(sorted({point.value.split(":")[0] for point in entry_points(group=ENTRY_POINT_GROUP)}))


def resolve(target: str, plugins: Sequence[str] = ()) -> Any:
    """Import what ``target`` names, if its package may be used.

    ``plugins`` are packages or modules (a prefix covers what is below it). Raises SettingError
    for a malformed target, a package that is not allowed, a module that is not there or fails
    to import, and a name that the module lacks.
    """
    if not isinstance(target, str) or not _TARGET.fullmatch(target):
        raise SettingError(f"{target!r} does not name code: write package.module:Name")
    module_name, name = target.split(":")
    if not _allowed(module_name, OWN_PACKAGES) and not _allowed(module_name, plugins):
        # Reading the installed distributions takes milliseconds, so only now.
        registered = plugin_packages()
        if not _allowed(module_name, registered):
            top = module_name.split(".")[0]
            raise SettingError(
                f"{target} may not be imported: {top} is not one of beeline's packages, not listed under "
                f"plugins and not registered under the entry-point group {ENTRY_POINT_GROUP}. "
                f"If you trust it, add plugins=[{top}]"
            )
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name + ".").startswith(error.name + "."):
            raise SettingError(f"there is no module {error.name} to take {target} from") from error
        raise SettingError(f"{target} needs the package {error.name}, which is not installed") from error
    except ImportError as error:
        raise SettingError(f"importing {module_name} for {target} failed: {error}") from error
    if not hasattr(module, name):
        public = [n for n in vars(module) if not n.startswith("_")]
        raise SettingError(f"module {module_name} has no {name}: {nearest(name, public)}")
    return getattr(module, name)


def _allowed(module: str, packages: Sequence[str]) -> bool:
    return any((module + ".").startswith(package + ".") for package in packages)
