"""Ten thousand malformed replies, and bodies without an end.

Whatever comes back, a question ends as an answer that says what is wrong with it, as probabilities
that the reply itself gives for the options shown, or as one sentence for a person. No traceback, no
choice that nobody made, no key in any text, nothing that grows without a bound.
"""

from __future__ import annotations

import asyncio
import html
import json
import random
import re
import socket
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any
from urllib.parse import quote, unquote

import pytest

from beeline.errors import ModelError
from beeline.model_arm import option_weights
from beeline.question import Answer, Question
from protocols.http import MAX_BODY, Http, HttpLimits
from protocols.systemone import SystemOne, SystemOneSettings
from protocols.transport import RawReply, TransportFault
from tests.protocols.asking import no_sleep, question

KEY = 'sk-live+Q7x/zZ9%k=0246813579"\\<&>fedcba'
ACCOUNT = "acct-9f8e7d6c5b4a39281706"
REPLIES = 10_000
#: Longer than any sentence of ours; a reply has no say in it.
LONGEST_MESSAGE = 2000

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 0.5, 1e308, -0.0, float("nan"), float("inf"), 10**400, "", "0.9", "NaN",
    "choose", [], {}, [[]], [{}], {"": None}, [0.5, 0.5], "x" * 5000, "\ud800", "\u0000\u001b[31m\u202e",
    "\n\r\u2028", {"BAC": {"BAC": 1}}, {"type": "refusal"}, {"message": "no", "code": None},
    "BAC", ["BAC", 0.9],
)  # fmt: skip
HEADERS = {
    "content-type": ("text/html", "application/json", "", "x" * 3000, "text/html; charset=\x00", "\u00e9"),
    "retry-after": ("0", "1", "-1", "nan", "1e300", "soon", "Mon, 99 Foo 2026", "9" * 400,
                    "Mon, 01 Jan 2035 00:00:00"),
    "retry-after-ms": ("0", "5", "inf", "-", "0x10"),
    "x-request-id": ("req-1", "a\tb\x00c", "r" * 5000, " "),
}  # fmt: skip
STATUSES = (200, 200, 200, 200, 200, 200, 201, 204, 299, 301, 307, 400, 401, 402, 403, 404, 405, 408, 409,
            413, 415, 422, 429, 429, 451, 499, 500, 503, 504, 524, 529, 529, 600, 999, 0)  # fmt: skip


class Maker:
    """Makes malformed replies from one seed."""

    def __init__(self, seed: int) -> None:
        self.draws = random.Random(seed)

    def echo(self) -> str:
        """The key or the account as some host may repeat it."""
        key = self.draws.choice((KEY, ACCOUNT))
        half = self.draws.randrange(6, len(key) - 6)
        return self.draws.choice(
            (
                key,
                f"{key[:half]}...{key[half:]}",
                f"{key[:half]} \n{key[half:]}",
                f"{key[:9]}****{key[-9:]}",
                " ".join(key),
                "\u200b".join(key),
                quote(key, safe=""),
                quote(quote(key, safe=""), safe=""),
                "".join(f"%{ord(c):02x}" for c in key),
                "".join(f"\\u{ord(c):04x}" for c in key),
                "".join(f"\\x{ord(c):02X}" for c in key),
                "".join(f"&#{ord(c)};" for c in key),
                "".join(f"&#x{ord(c):x};" for c in key),
                html.escape(key),
                json.dumps(json.dumps(key)),
                "padding " * self.draws.randrange(0, 60) + key,
                key * 40,
            )
        )

    def body(self, asked: Question) -> Any:
        """A good body."""
        shares = {option: round(self.draws.random(), 2) for option in asked.options}
        body: dict[str, Any] = {
            "model": "test-model",
            "answers": {
                "choose": {
                    "type": "choice",
                    "choice": self.draws.choice(asked.options),
                    "confidence": 0.4,
                    "probabilities": shares,
                }
            },
            "usage": {"input_tokens": 142, "output_tokens": 1},
        }
        if self.draws.random() < 0.1:
            body["answers"]["choose"] = {"type": "refusal"}
        if self.draws.random() < 0.1:
            body = {"result": body, "success": self.draws.random() < 0.8, "errors": [], "messages": []}
        return body

    def error(self) -> Any:
        """One of the known shapes of an error, with a key in it more often than not."""
        text = self.draws.choice(
            (f"bad key {self.echo()}", self.echo(), f"the model refused to answer {self.echo()}", "no")
        )
        return self.draws.choice(
            (
                {"detail": {"error_type": self.draws.choice(("x", text)), "message": text}},
                {"detail": [{"loc": ["body", text, 3], "msg": text, "input": text}]},
                {"detail": text},
                {"error": {"message": text, "code": self.draws.choice((None, 3, "content_filter", text))}},
                {"error": text},
                {"success": False, "result": None, "errors": [{"code": 5012, "message": text}]},
                {"message": text},
                {"error": {"other": {"deep": text}}},
                {"error": [text]},
            )
        )

    def spoiled(self, tree: Any) -> Any:
        """The tree with one node replaced, dropped, renamed or doubled."""
        nodes: list[tuple[Any, Any]] = []

        def walk(node: Any) -> None:
            keys = (
                node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
            )
            for key in keys:
                nodes.append((node, key))
                walk(node[key])

        walk(tree)
        if not nodes:
            return deepcopy(self.draws.choice(ODD))
        parent, key = self.draws.choice(nodes)
        what = self.draws.randrange(5)
        if what == 0:
            del parent[key]
        elif what == 1 and isinstance(parent, dict):
            parent[self.draws.choice(("Choose", "e\u0301", "", self.echo()))] = parent.pop(key)
        elif what == 2:
            parent[key] = self.echo()
        else:
            parent[key] = deepcopy(self.draws.choice(ODD))
        return tree

    def raw(self, text: bytes) -> bytes:
        """The bytes with something done to them."""
        what = self.draws.randrange(12)
        at = self.draws.randrange(len(text) + 1)
        if what == 0:
            return text[:at]
        if what == 1:
            return text[:at] + self.draws.randbytes(self.draws.randrange(1, 20)) + text[at:]
        if what == 2:
            return text[:at] + text[at + 1 :]
        if what == 3:
            return b"\xef\xbb\xbf" + text
        if what == 4:
            return text.decode("utf-8", "replace").encode(self.draws.choice(("utf-16", "utf-32", "utf-7")))
        if what == 5:
            return text + text
        if what == 6:
            return self.draws.choice((b"[", b'{"a":', b"[{}," * 3)) * self.draws.randrange(1, 5000)
        if what == 7:
            title = self.draws.choice(("504 Gateway Time-out", self.echo(), "x" * 4000))
            return f"<!DOCTYPE html><html><head><title>{title}</title>{self.echo()}".encode()
        if what == 8:
            return self.draws.choice(
                (b"", b" \n", b"null", b"\x00" * 50, self.echo().encode(), b"data: {}\n\n")
            )
        if what == 9:
            return self.draws.randbytes(self.draws.randrange(200))
        return text

    def reply(self, asked: Question) -> RawReply | TransportFault:
        """The next one."""
        if self.draws.random() < 0.04:
            kind = self.draws.choice(("connect", "broken", "broken", "certificate"))
            return TransportFault(kind, self.draws.choice((self.echo(), "x" * 9000, "\x1b[2J", "")))  # type: ignore[arg-type]
        if self.draws.random() < 0.02:
            return RawReply(200, {}, b"", cut=True)
        tree = self.body(asked) if self.draws.random() < 0.6 else self.error()
        for _ in range(self.draws.randrange(1, 4)):
            tree = self.spoiled(tree)
        text = json.dumps(tree, ensure_ascii=self.draws.random() < 0.5).encode("utf-8", "surrogatepass")
        if self.draws.random() < 0.4:
            text = self.raw(text)
        headers = {}
        for name, values in HEADERS.items():
            if self.draws.random() < 0.3:
                headers[name] = self.draws.choice((*values, self.echo()))
        return RawReply(self.draws.choice(STATUSES), headers, text)


class Hostile:
    """A transport that plays them."""

    def __init__(self, maker: Maker) -> None:
        self.maker = maker
        self.asked = question()
        self.last: RawReply | None = None
        self.sent = 0

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def send(self, body: bytes) -> RawReply:
        self.sent += 1
        got = self.maker.reply(self.asked)
        if isinstance(got, TransportFault):
            self.last = None
            raise got
        self.last = got
        return got


def given(reply: RawReply) -> dict[str, Any]:
    """What a reply gives for options, read in the simplest way; empty when it gives nothing."""
    try:
        body = json.loads(reply.body.decode().removeprefix("\ufeff"), parse_int=float)
        if "result" in body and "success" in body:
            body = body["result"]
        found = body["answers"]["choose"]["probabilities"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def assert_fit(text: str | None, limit: int = LONGEST_MESSAGE) -> None:
    """One line, bounded, printable, and without a key in any spelling."""
    if text is None:
        return
    assert len(text) <= limit
    assert text.isprintable(), ascii(text)
    text.encode()
    unescaped = re.sub(
        r"\\+u00([\da-fA-F]{2})|\\+x([\da-fA-F]{2})", lambda m: chr(int(m[1] or m[2], 16)), text
    )
    for spelling in (text, unquote(text), unquote(unquote(text)), html.unescape(text), unescaped):
        bare = "".join(spelling.split())
        for secret in (KEY, ACCOUNT):
            for i in range(len(secret) - 5):
                assert secret[i : i + 6] not in bare, text


def check(answer: Answer, asked: Question, reply: RawReply | None) -> str:
    """How the question ended."""
    assert reply is not None
    for text in (answer.problem, answer.choice, answer.served_model, answer.request_id):
        assert_fit(text)
    weights, unusable = option_weights(answer, asked.options)
    if unusable is not None:
        assert not any(weights)
        assert_fit(unusable)
        return "refused" if answer.refused else "invalid"
    assert 200 <= reply.status <= 299
    assert not reply.cut
    stated = given(reply)
    for option, weight in zip(asked.options, weights, strict=True):
        assert weight == 0 or weight == float(stated[option])
    return "answered"


def hostile_model(transport: Any, **more: Any) -> SystemOne:
    settings = SystemOneSettings(
        base_url="http://host/{account}/v1",
        id="test-model",
        key_variable="FUZZ_KEY",
        account_variable="FUZZ_ACCOUNT",
        timeout_s=5.0,
        **{"retries": 2, "patience_s": 30.0, **more},
    )
    return SystemOne("fuzzed", settings, transport=transport, sleep=no_sleep)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUZZ_KEY", KEY)
    monkeypatch.setenv("FUZZ_ACCOUNT", ACCOUNT)


@pytest.mark.parametrize("seed", range(4))
def test_malformed_replies(seed: int) -> None:
    hostile = Hostile(Maker(seed))
    ended = {"answered": 0, "refused": 0, "invalid": 0, "stopped": 0}

    async def run() -> None:
        model = hostile_model(hostile)
        await model.open()
        while hostile.sent < REPLIES // 4:
            try:
                answer = await model.answer(hostile.asked)
            except ModelError as error:
                assert_fit(str(error))
                ended["stopped"] += 1
            else:
                ended[check(answer, hostile.asked, hostile.last)] += 1
        assert model._http is not None
        assert model._http._pacer.in_flight == 0
        await model.close()

    asyncio.run(run())
    # All four happen, so that each of the checks above has been made many times.
    assert min(ended.values()) >= 5, ended


LARGE = {
    "nested lists": b"[" * MAX_BODY,
    "nested objects": b'{"answers":' * (MAX_BODY // 11),
    "one number": b"9" * MAX_BODY,
    "one text": b'"' + b"\\u0041" * (MAX_BODY // 6) + b'"',
}


@pytest.mark.parametrize("body", LARGE.values(), ids=LARGE)
def test_the_largest_bodies(body: bytes) -> None:
    class Large(Hostile):
        async def send(self, _: bytes) -> RawReply:
            self.last = RawReply(self.sent, {"content-type": "application/json"}, body)
            return self.last

    large = Large(Maker(0))

    async def run() -> None:
        model = hostile_model(large)
        await model.open()
        large.sent = 200
        assert check(await model.answer(large.asked), large.asked, large.last) == "invalid"
        large.sent = 400
        with pytest.raises(ModelError) as caught:
            await model.answer(large.asked)
        assert_fit(str(caught.value))
        await model.close()

    asyncio.run(run())


# --- over real sockets ----------------------------------------------------------------------

CHUNK = b"x" * 65_536


def endless(head: bytes) -> Callable[[], Iterator[bytes]]:
    """A reply whose body goes on for a gigabyte."""

    def parts() -> Iterator[bytes]:
        yield head
        for _ in range(2**30 // len(CHUNK)):
            yield CHUNK

    return parts


def packed() -> Iterator[bytes]:
    """A gigabyte of zeros in a megabyte, packed."""
    yield b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
    packer = zlib.compressobj(wbits=31)
    for _ in range(2**14):
        yield packer.compress(bytes(2**16))


def serve_once(parts: Callable[[], Iterator[bytes]]) -> tuple[str, threading.Thread]:
    """A server that reads a request and sends these bytes, once a connection; ends when cut off."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(20)

    def run() -> None:
        with listening:
            connection, _ = listening.accept()
            with connection:
                connection.settimeout(20)
                connection.recv(65_536)
                try:
                    for part in parts():
                        connection.sendall(part)
                except OSError:
                    pass

    thread = threading.Thread(target=run)
    thread.start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}/v1", thread


def many_headers() -> Iterator[bytes]:
    """A head that goes on."""
    yield b"HTTP/1.1 200 OK\r\n"
    for i in range(100_000):
        yield b"X-%d: 1\r\n" % i


ENDLESS = {
    "no length": (endless(b"HTTP/1.1 200 OK\r\n\r\n"), True),
    "a gigabyte": (endless(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n"), True),
    "many heads": (endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000 + b"HTTP/1.1 200 OK\r\n\r\n"), True),
    "packed": (packed, True),
    "an error": (endless(b"HTTP/1.1 503 Busy\r\n\r\n"), False),
    "one header": (endless(b"HTTP/1.1 200 OK\r\nX-A: "), False),
    "many headers": (many_headers, False),
}


@pytest.mark.parametrize(("parts", "cut"), ENDLESS.values(), ids=ENDLESS)
def test_a_body_without_end_is_cut_off(parts: Callable[[], Iterator[bytes]], cut: bool) -> None:
    url, thread = serve_once(parts)

    async def run() -> None:
        http = Http(f"{url}/systemone", {}, HttpLimits(retries=0, timeout_s=20))
        await http.open()
        try:
            if cut:
                got = await http.post(b"{}")
                assert (got.cut, got.body) == (True, b"")
            else:
                with pytest.raises(ModelError) as caught:
                    await http.post(b"{}")
                assert_fit(str(caught.value))
        finally:
            await http.close()

    tracemalloc.start()
    try:
        asyncio.run(run())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    thread.join(20)
    assert not thread.is_alive()
    assert peak < 5 * MAX_BODY
