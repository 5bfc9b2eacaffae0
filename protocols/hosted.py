"""What every model behind an HTTP host shares, whatever its protocol.

A protocol says how a question becomes a body and how a parsed reply becomes an answer; this layer
does the rest: key, address, pacing and retries (:mod:`protocols.http`), the meter, the check of
the model that served, usage and cost, envelopes, characters that a host refuses, and what is kept
for an archive. What cannot be read as an answer is an invalid answer with its reason, never a
silent pick; a reply from another model ends the run.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar, Self
from urllib.parse import quote, urlsplit

from beeline.errors import HostError, ModelError, SettingError
from beeline.model import Model
from beeline.question import Answer, Question
from beeline.services import Caps, Estimate, Services
from beeline.spend_caps import picodollars, tokens
from protocols.http import Http, HttpLimits, Reply
from protocols.secrets import Secret, check_variable, masked_bytes, read_key
from protocols.settings import read_settings, setting
from protocols.transport import Transport

__all__ = ["HostedModel", "HostedSettings"]


class _Twice(ValueError):
    """A key stands twice in one object of a reply."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _Twice
    return made


#: Integers as floats: one of 4,000 digits becomes infinite instead of costly or an error. A key that
#: comes twice is refused: JSON readers keep the last one silently, and that would be a silent pick.
_DECODER = json.JSONDecoder(parse_int=float, object_pairs_hook=_object)

#: Tokens a byte that a request is reserved with before the host has said what one took. By published
#: totals, hosts count from 0.2 (Luna) to 0.95 (Clef) for questions like ours (docs/costs.md).
FIRST_RATIO = 1.0
#: More tokens a byte are not believed of the next request: a host that counts absurdly must not push
#: reservations beyond what the ledger can hold (there they would count as unknown).
MOST_RATIO = 100.0
#: No tokenizer gets this many bytes of our questions into one token: a smaller count means that
#: the host did not read all of it (protocols.md 6.4).
BYTES_A_TOKEN = 10.0

#: A parameter of an address that holds a key.
_KEY_IN_QUERY = re.compile(
    r"[?&;]([a-z0-9_-]*(key|token|secret|password|signature)|sig|auth)=.", re.IGNORECASE
)

_TYPE_THIS = (
    "Say where a server that speaks the Jev protocol listens and which model to ask it for: "
    "python -m beeline model=local model.base_url=http://127.0.0.1:8000/v1 model.id=NAME"
)


@dataclass(frozen=True, kw_only=True)
class HostedSettings:
    """The settings of ``conf/model/*.yaml`` that all hosted models have."""

    base_url: str = setting(missing=_TYPE_THIS)
    """Scheme, host and leading path, such as ``http://127.0.0.1:8000/v1``; ``{account}`` in it is
    what the variable ``account_variable`` holds."""
    id: str = setting(missing="Name the model that the server is asked for with model.id=NAME")
    """The model name that the API is asked for."""
    path: str = setting("", blank=True)
    """Appended to base_url; ``{id}`` in it is the model's id."""
    label: str | None = setting(None)
    """How tables and figures call the model."""
    deterministic: bool = setting(False)
    """Whether the same question always gets the same answer (your word for it)."""
    publish: bool = setting(True)
    """Whether its vendor's terms let results be published."""
    key_variable: str | None = setting(None)
    """Where the key is (protocols.secrets); null where none is needed."""
    key_header: str = setting("Authorization")
    key_prefix: str = setting("Bearer ", blank=True)
    account_variable: str | None = setting(None)
    """Where the account's name is, for hosts that have it in the address."""
    served_names: tuple[str, ...] = setting(())
    """Names that the reply may give in place of id (dated builds, what an alias stands for)."""
    max_options: int = setting(255, least=2)
    context_tokens: int | None = setting(None, least=1)
    """What the model reads at most; a question that cannot fit is not sent."""
    replace: Mapping[str, str] | None = setting(None)
    """Characters the host refuses in an option, and what is sent instead, in options and state
    alike; must be reversible."""
    concurrency: int = setting(16, least=1, most=4096)
    """Requests in flight at most; fewer while the host says that it is too much."""
    requests_per_minute: float | None = setting(None, above=0)
    tokens_per_minute: float | None = setting(None, above=0)
    timeout_s: float = setting(60.0, above=0, most=86_400)
    """For one try."""
    patience_s: float = setting(300.0, above=0, most=86_400)
    """For all tries of one question and the waits between them."""
    retries: int = setting(7, least=0, most=100)
    price_input: float | None = setting(None, least=0)
    """US dollars a million input tokens; null when unknown, and then cost is unknown too."""
    price_output: float | None = setting(None, least=0)
    price_date: str | None = setting(None)
    """When the prices were read."""
    price_source: str | None = setting(None)
    max_usd: float | None = setting(None, least=0)
    """Caps of this model in one results folder; null for none (see spend.* for all models)."""
    max_tokens: int | None = setting(None, least=0)
    max_requests: int | None = setting(None, least=0)


class HostedModel(Model):
    """A model behind an HTTP host. Subclasses give the protocol.

    Raises of :meth:`answer`: HostError after all retries, ModelError when another model answers
    or the question cannot be sent, SpendError at a cap.
    """

    placement = "loop"
    protocol: ClassVar[str]
    settings_class: ClassVar[type[HostedSettings]] = HostedSettings
    headers: ClassVar[Mapping[str, str]] = {}
    """What every request of the protocol carries, beside key and content type."""
    expected_output: int = 1
    """Output tokens that a request is reserved with."""
    input_names: ClassVar[tuple[str, ...]] = ("input_tokens", "inputTokens")
    output_names: ClassVar[tuple[str, ...]] = ("output_tokens", "outputTokens")
    """What ``usage`` calls its counts; the first that holds one counts."""

    def __init__(
        self,
        name: str,
        settings: HostedSettings,
        *,
        transport: Transport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name = name
        self.model_id = settings.id
        self.max_options = settings.max_options
        self.concurrency = settings.concurrency
        self.settings = settings
        self.deterministic = settings.deterministic
        for what in ("key_variable", "account_variable"):
            named = getattr(settings, what)
            if named is not None:
                check_variable(named, f"model.{what}")
        _check_header(settings.key_header, settings.key_prefix)
        path = settings.path.replace("{id}", quote(settings.id, safe="/:@"))
        self.url = _url(settings.base_url, path)
        if "{account}" in self.url and settings.account_variable is None:
            raise SettingError(
                "model.base_url holds {account}: name the variable that holds the account with "
                "model.account_variable=NAME"
            )
        _check_pairs(settings.replace or {})
        self._accepted = frozenset((settings.id, *settings.served_names))
        self._transport, self._sleep = transport, sleep
        self._services = Services()
        self._secrets: tuple[Secret, ...] = ()
        self._http: Http | None = None
        self._ratio = FIRST_RATIO
        self._input_usd = None if settings.price_input is None else settings.price_input / 1e6
        self._output_usd = (settings.price_output or 0.0) / 1e6

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any], plugins: tuple[str, ...] = ()) -> Self:
        """Read the settings; nothing is contacted."""
        return cls(name, read_settings(cls.settings_class, settings))

    @abstractmethod
    def request_body(self, question: Question) -> bytes:
        """The request as UTF-8 JSON; options keep the order shown."""

    @abstractmethod
    def read_answer(self, body: dict[str, Any], question: Question, answer: Answer) -> None:
        """Fill ``answer`` from a parsed reply (numbers are floats): probabilities, choice,
        refused, or problem. ``served_model`` and usage are read already."""

    def read_usage(self, body: dict[str, Any], answer: Answer) -> None:
        """Fill tokens and, where the host states one, cost; what is absent or no count stays
        unknown."""
        usage = body.get("usage")
        if not isinstance(usage, dict):
            return
        answer.input_tokens = _count(usage, self.input_names)
        answer.output_tokens = _count(usage, self.output_names)
        cost = usage.get("cost")
        if isinstance(cost, float) and picodollars(cost) is not None:
            answer.cost_usd = cost

    def check(self) -> None:
        """See that key and account are there, where they are named."""
        self._read_secrets()

    def attach(self, services: Services) -> None:
        """Take the meter, the notices and whether replies are kept."""
        self._services = services

    def caps(self) -> Caps:
        """This model's own caps."""
        return Caps(self.settings.max_usd, self.settings.max_tokens, self.settings.max_requests)

    async def open(self) -> None:
        """Read the key and make the connection pool; nothing is sent."""
        settings = self.settings
        key, account = self._read_secrets()
        self._secrets = tuple(secret for secret in (key, account) if secret is not None)
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": f"beeline-bench/{_own_version()}",
            **self.headers,
        }
        if key is not None:
            headers[settings.key_header] = f"{settings.key_prefix}{key.reveal()}"
        url = self.url
        if account is not None:
            url = url.replace("{account}", quote(account.reveal(), safe=""))
        self._http = Http(
            url,
            headers,
            HttpLimits(
                settings.timeout_s,
                settings.patience_s,
                settings.retries,
                settings.concurrency,
                settings.requests_per_minute,
                settings.tokens_per_minute,
            ),
            secrets=self._secrets,
            advice=self.advice(),
            transport=self._transport,
            sleep=self._sleep,
            meter=self._services.meter,
            notice=self._services.notice,
        )
        await self._http.open()

    async def close(self) -> None:
        """Close the pool."""
        if self._http is not None:
            await self._http.close()

    async def answer(self, question: Question) -> Answer:
        """Ask the host."""
        http = self._http
        if http is None:
            raise RuntimeError(f"model {self.name} is asked before open()")
        if not 2 <= len(question.options) <= self.max_options:
            raise ModelError(
                f"model {self.name} takes 2 to {self.max_options} options a question, "
                f"not {len(question.options)}"
            )
        if len(set(question.options)) != len(question.options):
            twice = next(o for o in question.options if question.options.count(o) > 1)
            raise ModelError(
                f"two options of a question have the same text, {self._short(twice)}: it is not sent, since "
                "one of them would be lost"
            )
        pairs = self.settings.replace
        sent = self._replaced(question, pairs) if pairs else question
        body = self.request_body(sent)
        self._fits(body)
        expected = math.ceil(len(body) * self._ratio)
        cost = self._cost(expected, self.expected_output)
        reply = await http.post(body, Estimate(expected, self.expected_output, cost))
        try:
            answer = Answer(refused=True) if reply.refused else self.read_reply(reply.body, sent, reply)
        except ModelError:
            http.settle(reply, Estimate())  # the run ends; what it took is not known
            raise
        http.settle(reply, Estimate(answer.input_tokens, answer.output_tokens, answer.cost_usd))
        if answer.input_tokens:
            # Slowly down and quickly up: a reservation that is too small lets a cap be passed.
            seen = min(answer.input_tokens / len(body), MOST_RATIO)
            self._ratio = max(seen, 0.95 * self._ratio + 0.05 * seen)
        self._finish(answer, body, sent, question)
        answer.seconds = reply.seconds
        answer.retries = reply.retries
        answer.request_id = reply.request_id or answer.request_id
        return answer

    def reread(self, body: bytes, question: Question) -> Answer:
        """The answer in an archived reply's body."""
        pairs = self.settings.replace
        sent = self._replaced(question, pairs) if pairs else question
        answer = self.read_reply(body, sent)
        self._finish(answer, self.request_body(sent), sent, question)
        return answer

    def _finish(self, answer: Answer, body: bytes, sent: Question, question: Question) -> None:
        if answer.input_tokens is not None:
            context = self.settings.context_tokens
            answer.short_usage = answer.input_tokens * BYTES_A_TOKEN < len(body) or (
                # As many as the model reads at most: there may have been more.
                context is not None and answer.input_tokens >= context
            )
        if sent is not question:
            _restore(answer, sent, question)

    def read_reply(self, body: bytes, question: Question, reply: Reply | None = None) -> Answer:
        """The answer in a reply's body; also used for archived replies, without ``reply``."""
        if reply is not None and reply.cut:
            return Answer(problem="a body above 8 MiB")
        answer = self._read(body, question, reply)
        if self._services.keep_replies:
            raw = masked_bytes(body, self._secrets)
            if raw == body or self._reads_alike(raw, question, reply, answer):
                answer.raw = raw
            else:
                answer = _without_foreign(answer, question)
        return answer

    def _reads_alike(self, raw: bytes, question: Question, reply: Reply | None, answer: Answer) -> bool:
        """Whether a body whose secrets are masked still says the same. It does not where the key is a
        word of the answer itself, such as the "test" or "0" that people give a server of their own."""
        try:
            again = self._read(raw, question, reply)
        except ModelError:
            return False
        # Names that are no option may differ: nothing depends on them.
        return _without_foreign(again, question) == _without_foreign(answer, question)

    def _read(self, body: bytes, question: Question, reply: Reply | None) -> Answer:
        tidy = self._http.tidy if self._http is not None else _tidy
        answer = Answer()
        try:
            parsed = _DECODER.decode(body.decode().removeprefix("\ufeff"))
        except _Twice:
            answer.problem = "a reply that says something twice"
            return answer
        except (ValueError, RecursionError):
            # Short, so that equal failures of a run are counted as one reason.
            answer.problem = f"not JSON but {tidy(self._said(body, reply), 60)}"
            return answer
        if not isinstance(parsed, dict):
            answer.problem = "a reply that is not a JSON object"
            return answer
        if "result" in parsed and "success" in parsed:
            if parsed["success"] is not True:
                raise HostError(
                    f"{self.url}: the host says that the request failed: {tidy(self._said(body, reply))}"
                )
            parsed = parsed["result"] if isinstance(parsed["result"], dict) else {}
        served = self.served(parsed)
        if served is not None:
            if served not in self._accepted:
                self._other_model(tidy(served))
            answer.served_model = served
        named = parsed.get("id")
        if isinstance(named, str):  # OpenRouter names a reply in its body
            answer.request_id = tidy(named, 100)
        self.read_usage(parsed, answer)
        if answer.input_tokens == 0:
            # A question of ours has hundreds: the host does not count (protocols.md 5.3, 9).
            answer.input_tokens = None
        if answer.cost_usd == 0.0 and self._input_usd:
            answer.cost_usd = None  # it has a price: a host that bills elsewhere must not pass the cap
        if answer.cost_usd is None and answer.input_tokens is not None:
            answer.cost_usd = self._cost(answer.input_tokens, answer.output_tokens)
        self.read_answer(parsed, question, answer)
        if answer.problem is not None and any(parsed.get(name) for name in ("error", "errors", "detail")):
            # A 200 that holds an error object has words of its own.
            answer.problem = f"{answer.problem}: {tidy(self._said(body, reply))}"
        if answer.choice is not None and answer.choice not in question.options:
            answer.choice = tidy(answer.choice)
        return answer

    def served(self, body: dict[str, Any]) -> str | None:
        """The model that the reply says answered; None when it does not say."""
        name = body.get("model")
        return name if isinstance(name, str) else None

    def describe(self) -> dict[str, Any]:
        """The settings; of key and account only the names of their variables."""
        found = {f.name: getattr(self.settings, f.name) for f in fields(self.settings)}
        found = {k: list(v) if isinstance(v, tuple) else v for k, v in found.items()}
        del found["base_url"], found["path"]
        found["replace"] = dict(found["replace"] or {})
        return {"protocol": self.protocol, "url": self.url, **found}

    def advice(self) -> dict[int, str]:
        """What a person should do about a status."""
        if self.settings.key_variable is None:
            key = "The host wants a key: name the variable that holds it with model.key_variable=NAME"
        else:
            key = f"Check the key in {self.settings.key_variable}"
        address = "Check model.base_url (most end in /v1), model.path and model.id"
        return {
            400: f"Check that the server speaks the protocol {self.protocol} and knows model.id",
            401: key,
            402: "The account has no credit left",
            403: key,
            404: address,
            405: address,
            413: "The question is larger than this host takes",
            422: f"Check that the server speaks the protocol {self.protocol} and takes this many options",
            429: "Lower model.concurrency, or check the account's credit and limits",
            301: address,
            302: address,
            307: address,
            308: address,
        }

    def _said(self, body: bytes, reply: Reply | None) -> str:
        from protocols.failures import explain

        kind = reply.content_type if reply is not None else ""
        return explain(masked_bytes(body, self._secrets), kind)

    def _read_secrets(self) -> tuple[Secret | None, Secret | None]:
        key, account = self.settings.key_variable, self.settings.account_variable
        return read_key(key) if key else None, read_key(account) if account else None

    def _cost(self, input_tokens: int, output_tokens: int | None) -> float | None:
        if self._input_usd is None or (output_tokens is None and self._output_usd):
            return None
        return input_tokens * self._input_usd + (output_tokens or 0) * self._output_usd

    def _fits(self, body: bytes) -> None:
        context = self.settings.context_tokens
        if context is not None and len(body) > context * BYTES_A_TOKEN:
            raise ModelError(
                f"a question of {len(body):,} bytes cannot fit the {context:,} tokens that model {self.name} "
                "reads (model.context_tokens): it is not sent, since some hosts cut without a word"
            )

    def _other_model(self, served: str) -> None:
        raise ModelError(
            f"asked {self.url} for the model {self.model_id}, but {served} answered. If that is the model "
            f"you mean, add 'model.served_names=[{served}]' or set model.id={served}"
        )

    def _replaced(self, question: Question, pairs: Mapping[str, str]) -> Question:
        """The question with the host's characters; itself where it holds none of those refused."""
        texts = (question.task, question.goal, question.context, question.instructions)
        whole = "\0".join((*texts, *question.options))  # one search is quicker than one a text
        for old, new in pairs.items():
            if new in whole:
                text = next((t for t in (*question.options, *texts) if new in t), "")
                raise ModelError(
                    f"model.replace sends {new!r} for {old!r}, but the question holds {new!r} already "
                    f"({self._short(text)}): choose another character, so that the answer can be read back"
                )
        if not any(old in whole for old in pairs):
            return question

        def swap(text: str) -> str:
            for old, new in pairs.items():
                text = text.replace(old, new)
            return text

        options = tuple([swap(option) for option in question.options])
        if len(set(options)) != len(options):
            raise ModelError("model.replace makes two options alike: choose another character")
        task, goal, context, instructions = map(swap, texts)
        return Question(task, goal, context, instructions, options, question.kind)

    @staticmethod
    def _short(text: str) -> str:
        return repr(text if len(text) <= 80 else text[:79] + "\u2026")


def _check_header(name: str, prefix: str) -> None:
    """Raises SettingError unless a key can be sent so."""
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        raise SettingError(f"model.key_header={name!r} is not the name of a header, such as Authorization")
    if not (prefix.isascii() and (prefix.isprintable() or not prefix)):
        raise SettingError("model.key_prefix has characters that no HTTP header can carry")


def _check_pairs(pairs: Mapping[str, str]) -> None:
    """Raises SettingError unless the pairs can be undone whatever the text."""
    for old, new in pairs.items():
        if any(other in new for other in pairs):
            raise SettingError(
                f"model.replace sends {new!r} for {old!r}, which holds a character that is replaced itself: "
                "choose another"
            )
    if len(set(pairs.values())) != len(pairs):
        raise SettingError("model.replace sends the same character for two: choose one for each")


def _restore(answer: Answer, sent: Question, asked: Question) -> None:
    """Give the options their own names again; foreign ones stay as they came."""
    back = dict(zip(sent.options, asked.options, strict=True))
    if isinstance(answer.probabilities, Mapping):
        answer.probabilities = {back.get(name, name): p for name, p in answer.probabilities.items()}
    if answer.choice is not None:
        answer.choice = back.get(answer.choice, answer.choice)


def _without_foreign(answer: Answer, question: Question) -> Answer:
    """The answer without names that are no option, which may repeat a secret."""
    given = answer.probabilities
    if not isinstance(given, Mapping) or not given:
        return answer
    known = {name: given[name] for name in question.options if name in given}
    problem = answer.problem if known or answer.problem else "none of the shown options named"
    return replace(answer, probabilities=known, problem=problem)


def _count(usage: Mapping[str, Any], names: Sequence[str]) -> int | None:
    """The first of the named fields that holds a count; replies are parsed with floats."""
    for name in names:
        value = usage.get(name)
        if isinstance(value, float) and 0.0 <= value < math.inf:
            return tokens(int(value))  # more than any request can hold is no count
    return None


def _tidy(text: str, limit: int = 300) -> str:
    from protocols.failures import clean

    return clean(text, limit)


def _url(base_url: str, path: str) -> str:
    """base_url and path as one address. Raises SettingError without repeating a password or key."""
    shown = base_url.partition("?")[0]
    if _KEY_IN_QUERY.search(path):
        raise SettingError(
            "model.path holds a key, which would be kept with the results: put it in an environment variable "
            "and name that with model.key_variable"
        )
    try:
        parts = urlsplit(base_url)
        _ = parts.port
    except ValueError as error:
        raise SettingError(f"model.base_url={shown!r} is not an address: {error}") from None
    if parts.username is not None or parts.password is not None:
        raise SettingError(
            "model.base_url holds a user name or password; put a key in an environment variable and name "
            "that with model.key_variable"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingError(
            f"model.base_url={shown!r} must start with http:// or https:// and name a host, "
            "such as http://127.0.0.1:8000/v1"
        )
    if parts.query or parts.fragment:
        raise SettingError(
            f"model.base_url={shown.partition('#')[0]!r} may not hold '?' or '#': a key goes into an "
            "environment variable that model.key_variable names"
        )
    return f"{base_url.rstrip('/')}/{path.lstrip('/')}" if path else base_url.rstrip("/")


def _own_version() -> str:
    try:
        return version("beeline-bench")
    except PackageNotFoundError:
        return "source"
