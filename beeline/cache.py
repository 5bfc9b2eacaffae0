"""What no model changes, kept on disk: the drawn trial and its offline arms.

One small file a trial below a folder named by the definition's digest and by a digest of the
code that computes (the domain's folder and our own search), so that neither a changed setting
nor a changed program ever meets an old result. Each file carries the digest of its content and
is written under a temporary name; one that is torn or altered, or whole but not a trial's result,
is computed again and replaced. Any number of processes may read and write at once: they write equal
content.
"""

from __future__ import annotations

import json
import os
import sys
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from beeline.arms import OFFLINE_ARMS
from beeline.digest import canonical

__all__ = ["SEARCH_CORE", "WORLD_CORE", "TrialCache", "cache_folder"]

SEARCH_CORE = ("arms", "draws", "problem", "search", "space", "tally")
"""Our own modules that decide what a search trial gives."""
WORLD_CORE = (
    "draws",
    "episode",
    "facts",
    "world",
    "world_agents",
    "world_domain",
    "world_score",
    "world_solution",
    "world_words",
)
"""The same for worlds."""
_SEARCH_FIELDS = frozenset({"instance", "shortest_path", "states_reachable", "states_reaching_goal", "arms"})
_WORLD_FIELDS = frozenset({"world", "instance", "arms"})


def cache_folder() -> Path:
    """``BEELINE_CACHE``, else ``beeline/trials`` in the user's cache folder."""
    named = os.environ.get("BEELINE_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "beeline" / "trials"


class TrialCache:
    """The cached trials of one domain under one definition. ``folder`` None keeps nothing."""

    def __init__(
        self,
        folder: Path | None,
        definition: str,
        domain: str,
        module: str,
        core: tuple[str, ...] = SEARCH_CORE,
    ) -> None:
        self.folder = None
        self.fields = _WORLD_FIELDS if core is WORLD_CORE else _SEARCH_FIELDS
        if folder is not None:
            self.folder = folder / definition[:16] / f"{domain}-{_code_digest(module, core)[:16]}"

    def get(self, trial: int) -> dict[str, Any] | None:
        """The stored result of a trial; None when absent, torn, altered or not a trial's result."""
        if self.folder is None:
            return None
        try:
            digest, _, body = (self.folder / f"{trial}.json").read_text("utf-8").partition("\n")
        except (OSError, UnicodeDecodeError):
            return None
        if sha256(body.encode()).hexdigest() != digest:
            return None
        try:
            value = json.loads(body)
        except ValueError:
            return None
        return value if self._is_result(value) else None

    def _is_result(self, value: Any) -> bool:
        """What a run reads of a result is there: a digest says that a file is whole, not what it holds."""
        if not isinstance(value, dict) or not self.fields <= value.keys():
            return False
        arms = value["arms"]
        return (
            isinstance(arms, dict)
            and arms.keys() >= set(OFFLINE_ARMS)
            and all(isinstance(arm, dict) and arm for arm in arms.values())
        )

    def put(self, trial: int, value: dict[str, Any]) -> None:
        """Store a result. A cache that cannot be written is no error: it is only slower."""
        if self.folder is None:
            return
        body = canonical(value)
        path = self.folder / f"{trial}.json"
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary.write_text(f"{sha256(body.encode()).hexdigest()}\n{body}", "utf-8")
            os.replace(temporary, path)
        except OSError:
            temporary.unlink(missing_ok=True)


@lru_cache
def _code_digest(module: str, core: tuple[str, ...]) -> str:
    """Digest of the source of the module's folder and of our search code."""
    file = getattr(sys.modules.get(module), "__file__", None)
    here = Path(__file__).parent
    paths = [here / f"{name}.py" for name in core]
    if file is not None:
        folder = Path(file).parent
        paths += sorted(folder.glob("*.py"))
        if core is WORLD_CORE:  # what all families share lies beside theirs
            paths += sorted(folder.parent.glob("*.py"))
    digest = sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
