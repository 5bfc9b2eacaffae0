from __future__ import annotations

import asyncio

import pytest

from beeline.errors import SettingError
from protocols.fake import FakeServer
from protocols.transport import AiohttpTransport, _proxy
from tests.protocols.asking import question, system_one


def test_proxies_come_from_the_environment_and_never_for_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assert _proxy("https", "api.example.com") is None
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("http_proxy", "http://proxy:3129")
    monkeypatch.setenv("no_proxy", "inside.example.com")
    assert _proxy("https", "api.example.com") == "http://proxy:3128"
    assert _proxy("http", "api.example.com") == "http://proxy:3129"
    assert _proxy("https", "inside.example.com") is None
    for host in ("localhost", "127.0.0.1", "::1"):
        assert _proxy("http", host) is None


@pytest.mark.parametrize("room", [10, 1_000_000])
def test_a_body_is_read_up_to_the_bound(room: int) -> None:
    body = system_one("http://host/v1").request_body(question())

    async def send(url: str) -> tuple[int, bool, int]:
        transport = AiohttpTransport(url, {"Content-Type": "application/json"}, room)
        await transport.open()
        try:
            got = await transport.send(body)
            return got.status, got.cut, len(got.body)
        finally:
            await transport.close()
            await transport.close()

    with FakeServer() as server:
        status, cut, size = asyncio.run(send(server.base_url + "/systemone"))
    assert status == 200
    assert (cut, size > 0) == ((True, False) if room == 10 else (False, True))


def test_not_open() -> None:
    with pytest.raises(RuntimeError, match="not open"):
        asyncio.run(AiohttpTransport("http://host", {}, 1).send(b""))


def test_a_proxy_without_a_scheme_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "me:secret@proxy:3128")
    assert _proxy("https", "api.example.com") == "http://me:secret@proxy:3128"


@pytest.mark.parametrize(
    "named", ["me:secret@[::1", "http://me:secret@proxy:99999", "socks5://me:secret@proxy:1"]
)
def test_a_proxy_that_is_no_address_is_refused_unseen(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", named)
    with pytest.raises(SettingError, match="the proxy that https_proxy names") as caught:
        _proxy("https", "api.example.com")
    assert "secret" not in str(caught.value)
