"""Clef by Cloudflare: hosted, or from its open weights on a GPU of one's own.

``model.backend=hosted`` asks Workers AI (:mod:`protocols.systemone`). ``model.backend=weights`` loads a
pinned revision of the release (:mod:`protocols.clef_release`) where the run, or under engine=ray a
node with the GPU, has it; questions that arrive together go through the model together. The two
are different models to a benchmark: the weights see options sorted by name, and give probabilities
unrounded where the host rounds to 4 decimals (so that it ties more often). Records keep them apart:
the second is called ``<name>_weights``.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from beeline.errors import ModelError, SettingError
from beeline.model import Model
from beeline.question import KINDS, Answer, Question
from protocols.clef_release import INSTALL, Release, ReleaseSettings, Scored
from protocols.decisions import QUESTION_ID, read_levels, read_yes
from protocols.serve.batching import Caller, FunctionFailed
from protocols.serve.functions import Function
from protocols.serve.questions import WholeBody
from protocols.serve.refusals import Refused
from protocols.settings import read_settings, setting
from protocols.systemone import SystemOne, SystemOneSettings

__all__ = ["Clef", "ClefWeights", "WeightsSettings"]

_BACKENDS = ("hosted", "weights")
_PACKAGES = ("torch", "transformers", "accelerate", "safetensors")
_ELSEWHERE = (
    "Alternatives: engine=ray on a cluster whose nodes have a GPU, model.backend=hosted, or a server "
    "of your own with model=local"
)


class Clef(Model):
    """What ``conf/model/clef.yaml`` names; it makes one of the two."""

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any], plugins: tuple[str, ...] = ()) -> Model:
        """The hosted model, or the weights'. Raises SettingError for another backend."""
        given = dict(settings)
        backend, weights = given.pop("backend", "hosted"), given.pop("weights", None)
        if backend not in _BACKENDS:
            raise SettingError(f"model.backend={backend!r} must be {' or '.join(_BACKENDS)}")
        hosted = read_settings(SystemOneSettings, given)
        if backend == "hosted":
            return SystemOne.from_settings(name, given, plugins)
        if weights is not None and not isinstance(weights, Mapping):
            raise SettingError("model.weights must be a mapping of settings, such as {folder: /models/clef}")
        read = read_settings(WeightsSettings, weights or {}, "model.weights")
        return ClefWeights(f"{name}_weights", read, hosted.publish)


@dataclass(frozen=True, kw_only=True)
class WeightsSettings:
    """The settings under ``weights`` of ``conf/model/clef.yaml``."""

    repository: str = setting(missing="Name the repository of the release, or its folder")
    """Where the release comes from, on huggingface.co."""
    revision: str = setting(missing="Pin the commit of the repository that is to be scored")
    """The full commit; it is part of what records call the model."""
    folder: str | None = setting(None)
    """A folder that holds that revision; null takes it from the local Hugging Face cache."""
    download: bool = setting(False)
    """Whether a revision that is not in the cache may be fetched (19 or 55 GB)."""
    memory_gb: float | None = setting(None, above=0)
    """Free GPU memory it takes; null asks for no check."""
    device: str = setting("auto")
    dtype: str = setting("bfloat16")
    max_length: int = setting(65_536, least=256)
    batch_tokens: int = setting(65_536, least=1)
    """Padded tokens of one forward pass."""
    batch: int = setting(16, least=1, most=1024)
    """Questions that are put together at most."""
    wait_s: float = setting(0.005, least=0, most=60)
    """How long a batch waits for more after its first question."""
    concurrency: int = setting(32, least=1, most=4096)
    """Trials in flight: what batches are made of."""
    max_options: int = setting(255, least=2)


class ClefWeights(Model):
    """The release in this process; loaded in :meth:`open`, asked in micro-batches."""

    placement = "loop"
    kinds = KINDS
    reads_bodies = True
    """Takes a protocols.serve.questions.WholeBody too: what a server was sent, as it is."""
    # Batches differ from run to run, and kernels round differently for another shape.
    deterministic = False

    def __init__(self, name: str, settings: WeightsSettings, publish: bool = True) -> None:
        self.name = name
        self.model_id = f"{settings.repository}@{settings.revision[:12]}"
        self.max_options = settings.max_options
        self.concurrency = settings.concurrency
        self.settings = settings
        self.publish = publish
        self.needs = {} if settings.device == "cpu" else {"num_gpus": 1}
        self.elsewhere = _ELSEWHERE
        self._release: Release | None = None
        self._caller: Caller | None = None

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any], plugins: tuple[str, ...] = ()) -> Self:
        """Read the settings; weights are loaded later."""
        return cls(name, read_settings(WeightsSettings, settings))

    def check(self) -> None:
        """See that packages, a device with room and the release are here, without loading it."""
        absent = [package for package in _PACKAGES if find_spec(package) is None]
        if absent:
            raise SettingError(
                f"model.backend=weights needs {', '.join(absent)} on this machine: {INSTALL}. {_ELSEWHERE}"
            )
        _check_device(self.settings)
        self._folder()

    async def open(self) -> None:
        """Load and warm up, in the thread that will be asked."""
        self._release = await asyncio.to_thread(self._load)
        self._caller = Caller(
            Function(self._release.score, False, ""),
            batch=self.settings.batch,
            wait_s=self.settings.wait_s,
            limit=1 << 20,
        )
        await self._caller.start()

    async def close(self) -> None:
        """Stop the thread; the memory is freed with the model."""
        if self._caller is not None:
            await self._caller.stop()
        self._caller = self._release = None

    async def answer(self, question: Question) -> Answer:
        """Ask, together with whatever else waits. Raises ModelError when the question does not fit."""
        assert self._caller is not None, "open() comes first"
        whole = isinstance(question, WholeBody)
        body = dict(question.body) if isinstance(question, WholeBody) else body_of(question)
        started = time.perf_counter()
        try:
            scored = await self._caller.ask(body)
        except Refused as error:
            if whole:
                return Answer(raw=json.dumps({"status": error.status, "detail": error.detail}).encode())
            said = error.detail.get("message") if isinstance(error.detail, dict) else error.detail
            raise ModelError(f"model {self.name} cannot be asked this question: {said}") from error
        except FunctionFailed as error:
            cause = error.__cause__
            if isinstance(cause, ModelError):
                raise cause from error
            raise ModelError(f"model {self.name} failed ({type(cause).__name__}: {cause})") from error
        if whole:
            return Answer(raw=json.dumps(scored.reply()).encode())
        return self._answer(scored, question, time.perf_counter() - started)

    def describe(self) -> dict[str, Any]:
        """The settings; what is served says the code's digest too."""
        kept = {f.name: getattr(self.settings, f.name) for f in fields(self.settings)}
        del kept["folder"]  # a path of one machine
        return {"protocol": "clef_weights", "backend": "weights", "publish": self.publish, **kept}

    def _answer(self, scored: Scored, question: Question, seconds: float) -> Answer:
        assert self._release is not None
        answer = Answer(
            input_tokens=scored.input_tokens,
            output_tokens=0,
            cost_usd=0.0,
            served_model=f"{self.model_id}, code {self._release.code_digest[:12]}",
            seconds=seconds,
        )
        given = scored.probabilities[QUESTION_ID]
        if question.kind == "choice":
            answer.probabilities = given
        elif question.kind == "noul":
            read_yes(given.get("true"), answer)
        else:
            read_levels(given, question, answer)
        return answer

    def _load(self) -> Release:
        settings = self.settings
        return Release(
            ReleaseSettings(
                folder=str(self._folder()),
                device=settings.device,
                dtype=settings.dtype,
                max_length=settings.max_length,
                batch_tokens=settings.batch_tokens,
            )
        )

    def _folder(self) -> Path:
        settings = self.settings
        if settings.folder is not None:
            folder = Path(settings.folder)
            if not folder.is_dir():
                raise SettingError(f"model.weights.folder={folder} is no folder on this machine")
            return folder
        try:
            from huggingface_hub import snapshot_download
            from huggingface_hub.errors import LocalEntryNotFoundError
        except ImportError as error:
            raise SettingError(
                f"model.weights.folder is not set, and huggingface_hub is not installed: {INSTALL}"
            ) from error
        try:
            return Path(
                snapshot_download(
                    settings.repository, revision=settings.revision, local_files_only=not settings.download
                )
            )
        except LocalEntryNotFoundError as error:
            raise SettingError(
                f"{settings.repository} at {settings.revision[:12]} is not on this machine: allow it to be "
                "fetched with model.weights.download=true, or name a folder with model.weights.folder=DIR"
            ) from error


def body_of(question: Question) -> dict[str, Any]:
    """The System One body that the hosted model would be sent."""
    asked: dict[str, Any] = {"type": question.kind, "instructions": question.instructions}
    if question.kind == "choice":
        asked["criteria"] = dict.fromkeys(question.options)
    elif question.kind == "score":
        asked["criteria"] = list(question.options)
    state = {"task": question.task, "goal": question.goal, "context": question.context}
    return {"model": "clef", "state": state, "questions": {QUESTION_ID: asked}}


def _check_device(settings: WeightsSettings) -> None:
    """Raise SettingError where the device is absent or has too little free memory."""
    if settings.device == "cpu":
        return
    import torch

    wanted = "cuda" if settings.device == "auto" else settings.device
    if not torch.cuda.is_available():
        needs = f" with {settings.memory_gb:g} GB free" if settings.memory_gb else ""
        raise SettingError(
            f"model.backend=weights needs a GPU{needs}, and this machine has none "
            f"(model.weights.device=cpu is for tiny releases). {_ELSEWHERE}"
        )
    try:
        free = torch.cuda.mem_get_info(torch.device(wanted))[0] / 1e9
    except (RuntimeError, AssertionError, ValueError) as error:
        raise SettingError(
            f"model.weights.device={settings.device} is not on this machine. {_ELSEWHERE}"
        ) from error
    if settings.memory_gb is not None and free < settings.memory_gb:
        raise SettingError(
            f"model.backend=weights needs {settings.memory_gb:g} GB of free GPU memory, and {wanted} has "
            f"{free:.0f}. {_ELSEWHERE}"
        )
