"""A release of Clef in memory: several requests answered in one forward pass.

Clef's weights are published with one file of code, ``joint_schema_model.py``; that file is run as it
is, so what a model sees is the release's doing and not ours. What it does that matters here: options
are sorted by name before the model sees them, so their order in a question changes nothing but
which of equal ones is named; the id of a question is part of the text; and of a state that is too
long the tail is cut, which is why ``max_length`` is set well above what 255 options take.

Requests of unequal length are padded to the longest of their batch. They are sorted by length and put
together while *padded tokens* (requests times the longest) stay within a budget, so that one long
question does not make many short ones expensive. A batch that does not fit the memory is halved.

To serve a release to others (environment variables CLEF_FOLDER, and what
:class:`ReleaseSettings` names, upper case after CLEF_)::

    CLEF_FOLDER=/models/clef python -m protocols.serve protocols.clef_release:decide --batch 16 --wait 0.005

On the GPU node of a cluster: ``python -m protocols.serve model=clef model.backend=weights ...``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from beeline.errors import ModelError, SettingError
from beeline.settings import read_settings, setting
from protocols.serve.refusals import BadRequest

__all__ = ["CODE_FILE", "Release", "ReleaseSettings", "Scored", "decide", "groups", "load_code"]

CODE_FILE = "joint_schema_model.py"
_FILES = (CODE_FILE, "joint_head_config.json", "joint_head.safetensors")
_TYPES = ("bfloat16", "float16", "float32")

Body = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class ReleaseSettings:
    """How a release is run."""

    folder: str = setting(missing="Name the folder of a release")
    """Where the release lies."""
    device: str = setting("auto")
    """``cuda``, ``cuda:1``, ``cpu``...; auto takes a GPU where there is one."""
    dtype: str = setting("bfloat16")
    """What weights are held in: bfloat16, float16 or float32."""
    max_length: int = setting(65_536, least=256)
    """Tokens of one request. 255 long options take 20,000."""
    batch_tokens: int = setting(65_536, least=1)
    """Padded tokens of one forward pass; a longer request goes alone."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One request's answers."""

    probabilities: Mapping[str, Mapping[str, float]]
    """By question and option, unrounded."""
    answers: Mapping[str, Any]
    """As the release's server writes them: rounded to 4 decimals."""
    input_tokens: int

    def reply(self) -> dict[str, Any]:
        """What a server replies, but for the model's name."""
        return {
            "answers": dict(self.answers),
            "usage": {"input_tokens": self.input_tokens, "output_tokens": 0},
        }


class Release:
    """The model of a release folder, loaded and warm. Not for several threads at once."""

    def __init__(self, settings: ReleaseSettings, loaded: tuple[Any, Any] | None = None) -> None:
        """Load it; raises SettingError where the folder holds no release, a package is missing or
        the device is not there, ModelError where the release does not load. ``loaded`` are model
        and processor that are in memory already; then only the code is taken from the folder.
        """
        torch = _torch()
        if settings.dtype not in _TYPES:
            raise SettingError(f"dtype={settings.dtype!r} must be one of {', '.join(_TYPES)}")
        folder = Path(settings.folder)
        self.settings = settings
        self.code = load_code(folder)
        self.code_digest = hashlib.sha256((folder / CODE_FILE).read_bytes()).hexdigest()
        self.device = _device(torch, settings.device)
        try:
            self._model, self._processor = loaded or self.code.load_release_model(
                str(folder), device=self.device, dtype=getattr(torch, settings.dtype)
            )
        except (ImportError, OSError, RuntimeError, ValueError) as error:
            raise ModelError(f"the release in {folder} does not load ({_first_line(error)})") from error
        self._torch = torch
        self.decide([_WARM_UP])  # kernels are chosen and compiled at the first pass

    def score(self, bodies: Sequence[Body]) -> list[Scored | BadRequest]:
        """One result a System One body; a body that the release does not take is a BadRequest.

        Probabilities do not depend on what else is in the batch, beyond what kernels round.
        """
        results: list[Scored | BadRequest | None] = [None] * len(bodies)
        encoded: dict[int, Any] = {}
        for i, body in enumerate(bodies):
            try:
                encoded[i] = self.code.encode_record(
                    self._processor.tokenizer,
                    body,
                    max_length=self.settings.max_length,
                    processor=self._processor,
                )
            except ValueError as error:  # "schema requires N tokens before state; maximum is M"
                kind = "max_tokens_exceeded" if "token" in str(error) else "api_usage_error"
                results[i] = BadRequest(str(error), error_type=kind)
                continue
            if len(encoded[i].input_ids) >= self.settings.max_length:
                del encoded[i]
                results[i] = BadRequest(
                    f"the state would be cut to fit the maximum of {self.settings.max_length} tokens",
                    error_type="max_tokens_exceeded",
                )
        lengths = {i: len(record.input_ids) for i, record in encoded.items()}
        for group in groups(lengths, self.settings.batch_tokens):
            for i, scored in self._run(group, encoded, bodies):
                results[i] = scored
        assert all(result is not None for result in results)
        return [result for result in results if result is not None]

    def decide(self, bodies: Sequence[Body]) -> list[dict[str, Any] | BadRequest]:
        """The replies of a server, for :mod:`protocols.serve` with ``--batch``."""
        return [scored if isinstance(scored, BadRequest) else scored.reply() for scored in self.score(bodies)]

    def _run(
        self, group: Sequence[int], encoded: Mapping[int, Any], bodies: Sequence[Body]
    ) -> Iterator[tuple[int, Scored]]:
        torch = self._torch
        try:
            with torch.inference_mode():
                pad = self._processor.tokenizer.pad_token_id
                batch = self.code.collate_records([encoded[i] for i in group], pad, self.device)
                scores = self._model(batch)
        except torch.OutOfMemoryError as error:
            if len(group) == 1:
                tokens = len(encoded[group[0]].input_ids)
                raise ModelError(
                    f"a question of {tokens} tokens does not fit the memory of {self.device}: take a larger "
                    "device, or a smaller max_length so that it is refused"
                ) from error
            torch.cuda.empty_cache()
            middle = len(group) // 2
            for part in (group[:middle], group[middle:]):
                yield from self._run(part, encoded, bodies)
            return
        for i, logits in zip(group, scores, strict=True):
            yield i, self._read(bodies[i], encoded[i], logits)

    def _read(self, body: Body, record: Any, scores: Sequence[Any]) -> Scored:
        probabilities, answers = {}, {}
        for question, logits in zip(record.questions, scores, strict=True):
            shares = logits.float().softmax(-1).tolist()
            named = dict(zip(question.option_ids, shares, strict=True))
            name = question.question_id
            probabilities[name] = named
            answers[name] = self.code.systemone_answer(body["questions"][name], named)
        return Scored(probabilities, answers, len(record.input_ids))


def groups(lengths: Mapping[int, int], budget: int) -> list[list[int]]:
    """Keys in batches of like length, longest first: number times longest within ``budget``.

    >>> groups({0: 10, 1: 90, 2: 40, 3: 45}, 100)
    [[1], [3, 2], [0]]
    """
    found: list[list[int]] = []
    longest = 0
    for key in sorted(lengths, key=lambda k: (-lengths[k], k)):
        if found and (len(found[-1]) + 1) * longest <= budget:
            found[-1].append(key)
        else:
            found.append([key])
            longest = lengths[key]
    return found


def load_code(folder: Path) -> ModuleType:
    """The release's own code file, as a module. Raises SettingError where the folder is no release."""
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        raise SettingError(
            f"{folder} holds no release of Clef: {', '.join(missing)} not there. Download one with "
            "hf download Cloudflare/clef --revision REVISION --local-dir FOLDER"
        )
    path = (folder / CODE_FILE).resolve()
    name = f"clef_release_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its dataclasses look themselves up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise SettingError(f"{path} does not run here ({_first_line(error)}): {INSTALL}") from error
    return module


INSTALL = "install what it needs with python -m pip install 'beeline-bench[clef]'"


def _torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise SettingError(f"weights need torch, which is not installed: {INSTALL}") from error


def _device(torch: Any, wanted: str) -> Any:
    here = torch.cuda.is_available()
    try:
        device = torch.device(("cuda" if here else "cpu") if wanted == "auto" else wanted)
    except RuntimeError as error:
        raise SettingError(f"device={wanted!r} is no device: cuda, cuda:0, cpu or auto") from error
    if device.type == "cuda" and (not here or (device.index or 0) >= torch.cuda.device_count()):
        count = torch.cuda.device_count() if here else 0
        raise SettingError(f"device={wanted}: this machine has {count or 'no'} GPU{'s' * (count != 1)}")
    return device


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:300]}"


_WARM_UP: Body = {
    "model": "clef",
    "state": {"task": "warm up"},
    "questions": {
        "choose": {"type": "choice", "instructions": "Which one?", "criteria": {"one": None, "two": None}}
    },
}


@cache
def _served() -> Release:
    given: dict[str, Any] = {}
    for field in fields(ReleaseSettings):
        text = os.environ.get(f"CLEF_{field.name.upper()}")
        if text is not None:
            given[field.name] = int(text) if text.isdigit() and field.name != "folder" else text
    if "folder" not in given:
        raise SettingError("set CLEF_FOLDER to the folder of a release")
    return Release(read_settings(ReleaseSettings, given, "CLEF"))


def decide(bodies: list[dict[str, Any]]) -> list[Any]:
    """Clef, from the release folder that CLEF_FOLDER names; the first call loads it."""
    return list(_served().decide(bodies))
