"""The answer cache of deterministic models (``reuse=on``): the same question is asked once.

Keyed by what the model is and by the question's content, options and their order included. A
SQLite file in the cache folder, which any number of processes may use at once. A cache that
cannot be read or written is no error: the question is asked.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from beeline.archive import answer_from, answer_line, asked
from beeline.digest import digest_of
from beeline.errors import SettingError
from beeline.lines import compact
from beeline.model import Model
from beeline.model_arm import option_weights
from beeline.question import Answer, Question
from beeline.wrapped import Wrapped

__all__ = ["AnswerStore", "Reusing"]


class AnswerStore:
    """Answers by key, in one SQLite file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._base: sqlite3.Connection | None = None

    def get(self, key: str) -> Answer | None:
        """The kept answer, marked as cached; None when there is none that can be read."""
        with contextlib.suppress(sqlite3.Error, OSError, ValueError, TypeError, zlib.error):
            row = self._open().execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
            if row is not None:
                answer = answer_from(json.loads(zlib.decompress(row[0])))
                answer.cached = True
                return answer
        return None

    def put(self, key: str, question: Question, answer: Answer) -> None:
        """Keep an answer."""
        kept = replace(answer, raw=None)  # parsed: a body would be of no more use
        value = zlib.compress(compact(answer_line(question, kept)).encode("utf-8", "surrogatepass"), 1)
        with contextlib.suppress(sqlite3.Error, OSError):
            self._open().execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (key, value))

    def _open(self) -> sqlite3.Connection:
        if self._base is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            base = sqlite3.connect(self.path, timeout=10.0, isolation_level=None, check_same_thread=False)
            base.execute("PRAGMA journal_mode = WAL")
            # A lost answer is asked again.
            base.execute("PRAGMA synchronous = OFF")
            base.execute(
                "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer BLOB) WITHOUT ROWID"
            )
            self._base = base
        return self._base

    def close(self) -> None:
        """Close the file."""
        if self._base is not None:
            self._base.close()
            self._base = None


class Reusing(Wrapped):
    """``inner``, asked only what it was not asked before."""

    written = "reuse=on"

    def __init__(self, inner: Model, path: Path) -> None:
        if not inner.deterministic:
            raise SettingError(
                f"reuse=on: model {inner.name} does not promise the same answer to the same question; "
                "if yours does, and has the setting, say model.deterministic=true"
            )
        super().__init__(inner)
        self._store = AnswerStore(path)
        self._self = digest_of({"model_id": inner.model_id, **inner.describe()})

    async def close(self) -> None:
        """Close the model and the store."""
        self._store.close()
        await self.inner.close()

    async def answer(self, question: Question) -> Answer:
        """From the store, else from the model."""
        key = self._key(question)
        found = self._store.get(key)
        if found is None:
            found = await self.inner.answer(question)
            self._keep(key, question, found)
        return found

    def answer_now(self, question: Question) -> Answer:
        """The same in a worker process."""
        key = self._key(question)
        found = self._store.get(key)
        if found is None:
            found = self.inner.answer_now(question)
            self._keep(key, question, found)
        return found

    def _keep(self, key: str, question: Question, answer: Answer) -> None:
        # What was refused or unusable once may be answered the next time. Names that are no option
        # decide nothing, and a host may put anything there.
        if option_weights(answer, question.options)[1] is not None:
            return
        given = answer.probabilities
        if isinstance(given, Mapping):
            given = {name: given[name] for name in question.options if name in given}
        self._store.put(key, question, replace(answer, probabilities=given))

    def _key(self, question: Question) -> str:
        return f"{self._self[:32]}{asked(question)}"
