"""The Jev protocol ("System One"): one choice question a request, over HTTP.

Request: ``model``, ``state`` (task, goal, context), ``questions`` with the one question ``choose``
whose ``criteria`` map each option to null, and no field more, since some hosts refuse unknown ones.
Reply: ``answers.choose.probabilities`` by option name. Names are compared byte for byte; any sum
is accepted; a missing name counts 0 and a foreign one is ignored (by the arm). ``choice`` is kept
and never trusted. What cannot be read as an answer is an invalid answer with its reason, never a
silent pick; a reply from another model ends the run.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any
from urllib.parse import urlsplit

from beeline.errors import HostError, ModelError, SettingError
from beeline.model import Model
from beeline.question import Answer, Question
from protocols.http import Http, HttpLimits, Reply
from protocols.secrets import read_key
from protocols.settings import read_settings, setting
from protocols.transport import Transport

__all__ = ["EscapedOptions", "SystemOne", "SystemOneSettings"]

QUESTION_ID = "choose"

#: Integers as floats: one of 4,000 digits becomes infinite instead of costly or an error.
_DECODER = json.JSONDecoder(parse_int=float)

_TYPE_THIS = (
    "Say where a server that speaks the Jev protocol listens and which model to ask it for: "
    "python -m beeline model=local model.base_url=http://127.0.0.1:8000/v1 model.id=NAME"
)


@dataclass(frozen=True, kw_only=True)
class SystemOneSettings:
    """The settings of ``conf/model/*.yaml`` for this protocol."""

    base_url: str = setting(missing=_TYPE_THIS)
    """Scheme, host and leading path, such as ``http://127.0.0.1:8000/v1``."""
    id: str = setting(missing=_TYPE_THIS)
    """The model name that the API is asked for."""
    path: str = setting("/systemone")
    """Appended to base_url."""
    key_variable: str | None = setting(None)
    """The environment variable that holds the key; null where none is needed."""
    served_names: tuple[str, ...] = setting(())
    """Names that the reply may give in place of id (dated builds, what an alias stands for)."""
    max_options: int = setting(255, least=2)
    concurrency: int = setting(16, least=1, most=4096)
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


class EscapedOptions(dict[str, bytes]):
    """Option text to ``"text":null`` as UTF-8 JSON, escaped once a text.

    The frontiers of a search overlap, so nearly every text of a question was in the one before.
    Cleared when full: texts come back cheaply, and memory stays bounded.
    """

    __slots__ = ()
    most = 65_536

    def __missing__(self, text: str) -> bytes:
        if len(self) >= self.most:
            self.clear()
        escaped = self[text] = _escaped(text) + b":null"
        return escaped


def _escaped(text: str) -> bytes:
    try:
        return encode_basestring(text).encode()
    except UnicodeEncodeError:  # a lone surrogate: only its ASCII escape can be sent
        return encode_basestring_ascii(text).encode()


class SystemOne(Model):
    """A model behind a server that speaks the Jev protocol."""

    placement = "loop"

    def __init__(
        self,
        name: str,
        settings: SystemOneSettings,
        *,
        transport: Transport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name = name
        self.model_id = settings.id
        self.max_options = settings.max_options
        self.concurrency = settings.concurrency
        self.settings = settings
        self.url = _url(settings.base_url, settings.path)
        self._accepted = frozenset((settings.id, *settings.served_names))
        self._transport, self._sleep = transport, sleep
        self._http: Http | None = None
        self._options = EscapedOptions()
        self._heads: dict[tuple[str, str, str, str], bytes] = {}
        self._input_usd = None if settings.price_input is None else settings.price_input / 1e6
        self._output_usd = (settings.price_output or 0.0) / 1e6

    @classmethod
    def from_settings(
        cls, name: str, settings: Mapping[str, Any], plugins: tuple[str, ...] = ()
    ) -> SystemOne:
        """Read the settings; nothing is contacted."""
        return cls(name, read_settings(SystemOneSettings, settings))

    def check(self) -> None:
        """See that the key is there, where one is named."""
        if self.settings.key_variable is not None:
            read_key(self.settings.key_variable)

    async def open(self) -> None:
        """Read the key and make the connection pool; nothing is sent."""
        settings = self.settings
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": f"beeline-bench/{_own_version()}",
        }
        secrets = []
        if settings.key_variable is not None:
            secrets.append(read_key(settings.key_variable))
            headers["Authorization"] = f"Bearer {secrets[0].reveal()}"
        self._http = Http(
            self.url,
            headers,
            HttpLimits(settings.timeout_s, settings.patience_s, settings.retries, settings.concurrency),
            secrets=secrets,
            advice=_advice(settings),
            transport=self._transport,
            sleep=self._sleep,
        )
        await self._http.open()

    async def close(self) -> None:
        """Close the pool."""
        if self._http is not None:
            await self._http.close()

    async def answer(self, question: Question) -> Answer:
        """Ask the host; HostError after all retries, ModelError when another model answers."""
        if self._http is None:
            raise RuntimeError(f"model {self.name} is asked before open()")
        if not 2 <= len(question.options) <= self.max_options:
            raise ModelError(
                f"model {self.name} takes 2 to {self.max_options} options a question, "
                f"not {len(question.options)}"
            )
        reply = await self._http.post(self.request_body(question))
        answer = self._read(reply, question, self._http)
        answer.seconds = reply.seconds
        answer.retries = reply.retries
        return answer

    def describe(self) -> dict[str, Any]:
        """The settings; of the key only its variable's name."""
        settings = self.settings
        return {
            "protocol": "systemone",
            "url": self.url,
            "id": settings.id,
            "key_variable": settings.key_variable,
            "served_names": list(settings.served_names),
            "max_options": settings.max_options,
            "concurrency": settings.concurrency,
            "timeout_s": settings.timeout_s,
            "patience_s": settings.patience_s,
            "retries": settings.retries,
            "price_input": settings.price_input,
            "price_output": settings.price_output,
            "price_date": settings.price_date,
        }

    def request_body(self, question: Question) -> bytes:
        """The request as UTF-8 JSON; options keep the order shown."""
        key = (question.task, question.goal, question.context, question.instructions)
        head = self._heads.get(key)
        if head is None:
            if len(self._heads) >= 4096:  # one entry a trial
                self._heads.clear()
            head = self._heads[key] = self._head(question)
        return b"%b%b}}}}" % (head, b",".join([*map(self._options.__getitem__, question.options)]))

    def _head(self, question: Question) -> bytes:
        state = {"task": question.task, "goal": question.goal, "context": question.context}
        fields = b",".join(_escaped(key) + b":" + _escaped(value) for key, value in state.items())
        return (
            b'{"model":%b,"state":{%b},"questions":{"%b":{"type":"choice","instructions":%b,"criteria":{'
            % (_escaped(self.model_id), fields, QUESTION_ID.encode(), _escaped(question.instructions))
        )

    def _read(self, reply: Reply, question: Question, http: Http) -> Answer:
        if reply.cut:
            return Answer(problem="a body above 8 MiB")
        try:
            body = _DECODER.decode(reply.body.decode().removeprefix("\ufeff"))
        except (ValueError, RecursionError):
            # Short, so that equal failures of a run are counted as one reason.
            return Answer(problem=f"not JSON but {http.tidy(http.explain(reply), 60)}")
        if not isinstance(body, dict):
            return Answer(problem="a reply that is not a JSON object")
        if "result" in body and "success" in body:
            if body["success"] is not True:
                raise HostError(f"{self.url}: the host says that the request failed: {http.explain(reply)}")
            body = body["result"] if isinstance(body["result"], dict) else {}
        served = body.get("model")
        if not isinstance(served, str):
            served = None
        elif served not in self._accepted:
            self._other_model(http.tidy(served))
        answer = Answer(served_model=served)
        self._count(answer, body.get("usage"))
        answers = body.get("answers")
        given = answers.get(QUESTION_ID) if isinstance(answers, dict) else None
        if not isinstance(given, dict):
            # A 200 that holds an error object has words of its own.
            said = f": {http.explain(reply)}" if body.keys() & {"error", "errors", "detail"} else ""
            answer.problem = f"no answer to the question in the reply{said}"
            return answer
        if given.get("type") == "refusal":
            answer.refused = True
            return answer
        choice = given.get("choice")
        if isinstance(choice, str):
            answer.choice = choice if choice in question.options else http.tidy(choice)
        probabilities = given.get("probabilities")
        if isinstance(probabilities, dict):
            answer.probabilities = probabilities
        elif probabilities is None:
            answer.problem = "an answer without probabilities"
        else:
            answer.problem = "probabilities that are not a map from option to number"
        return answer

    def _other_model(self, served: str) -> None:
        raise ModelError(
            f"asked {self.url} for the model {self.model_id}, but {served} answered. If that is the model "
            f"you mean, add 'model.served_names=[{served}]' or set model.id={served}"
        )

    def _count(self, answer: Answer, usage: Any) -> None:
        """Read usage in snake or camel case; what is absent or no count stays unknown."""
        if not isinstance(usage, dict):
            return
        answer.input_tokens = _tokens(usage, ("input_tokens", "inputTokens"))
        answer.output_tokens = _tokens(usage, ("output_tokens", "outputTokens"))
        if self._input_usd is not None and answer.input_tokens is not None:
            if answer.output_tokens is None and self._output_usd:
                return
            answer.cost_usd = answer.input_tokens * self._input_usd + (
                (answer.output_tokens or 0) * self._output_usd
            )


def _tokens(usage: Mapping[str, Any], names: Sequence[str]) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, float) and 0.0 <= value <= 1e12:
            return int(value)
    return None


def _url(base_url: str, path: str) -> str:
    """base_url and path as one address. Raises SettingError without repeating a password."""
    try:
        parts = urlsplit(base_url)
        _ = parts.port
    except ValueError as error:
        raise SettingError(f"model.base_url={base_url!r} is not an address: {error}") from None
    if parts.username is not None or parts.password is not None:
        raise SettingError(
            "model.base_url holds a user name or password; put a key in an environment variable and name "
            "that with model.key_variable"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingError(
            f"model.base_url={base_url!r} must start with http:// or https:// and name a host, "
            "such as http://127.0.0.1:8000/v1"
        )
    if parts.query or parts.fragment:
        raise SettingError(f"model.base_url={base_url!r} may not hold '?' or '#'")
    return f"{base_url.rstrip('/')}/{path.lstrip('/')}"


def _advice(settings: SystemOneSettings) -> dict[int, str]:
    if settings.key_variable is None:
        key = "The host wants a key: name the variable that holds it with model.key_variable=NAME"
    else:
        key = f"Check the key in the environment variable {settings.key_variable}"
    address = "Check model.base_url (most end in /v1), model.path and model.id"
    return {
        400: "Check that the server speaks the Jev protocol and knows model.id",
        401: key,
        402: "The account has no credit left",
        403: key,
        404: address,
        405: address,
        413: "The question is larger than this host takes",
        422: "Check that the server speaks the Jev protocol and takes this many options",
        429: "Lower model.concurrency, or check the account's credit and limits",
        301: address,
        302: address,
        307: address,
        308: address,
    }


def _own_version() -> str:
    try:
        return version("beeline-bench")
    except PackageNotFoundError:
        return "source"
