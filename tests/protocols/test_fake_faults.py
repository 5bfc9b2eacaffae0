"""Each fault is what it says, and strikes when it should."""

from __future__ import annotations

from collections import Counter
from typing import Any

import httpx
import pytest

from beeline.errors import SettingError
from protocols.fake import FAULTS, FakeServer, FaultPlan
from protocols.fake.answers import answers_for
from protocols.fake.exchange import Exchange
from protocols.fake.systemone import JEV
from tests.protocols.test_fake import body, post

#: What makes a fault visible, where "always" does not.
WRITTEN = {
    "cap": "cap=40",
    "cap_moves": "cap_moves=1,40",
    "context": "context=20",
    "context_moves": "context_moves=1,20",
    "truncate": "truncate=20",
    "drift": "drift=0",
    "refusal_names": "refusal_names=\u00c9",
    "refusal_first": "refusal_first=0 of",
    "outage": "outage=0:60",
    "outage_reset": "outage_reset=0:60",
}
#: Seen only where there is a language model, an envelope, one option, or two requests in flight.
ELSEWHERE = {
    *("prose", "fenced", "no_json", "number_as_string", "number_as_float", "out_of_range", "truncated"),
    *(
        "content_filter",
        "cached",
        "no_envelope",
        "zero_tokens_one",
        "crash_one_option",
        "batch_noise",
        "storm",
    ),
}
OPTIONS = [*(f"{i} of 40" for i in range(40)), "7", "3", "a/b", "\u00c9clair"]


def asked() -> dict[str, Any]:
    questions = body(OPTIONS)["questions"]
    questions |= {"a blank": {"type": "score", "instructions": {"x": 1}, "criteria": ["low", "high"]}}
    return body(questions=questions) | {"unknown": 1}


@pytest.mark.parametrize("name", sorted(FAULTS.keys() - ELSEWHERE))
def test_every_fault_does_something_and_says_what(name: str) -> None:
    assert FAULTS[name].help
    fault = WRITTEN.get(name, name)
    if name in ("slow_body", "silent"):
        with FakeServer(name) as server, pytest.raises(httpx.ReadTimeout):
            httpx.post(server.base_url + "/systemone", json=asked(), timeout=0.05, trust_env=False)
        return
    if name == "huge_body":
        with (
            FakeServer(name) as server,
            httpx.stream("POST", server.base_url + "/systemone", json=asked(), trust_env=False) as got,
        ):
            size = 0
            for chunk in got.iter_bytes():
                size += len(chunk)
                if size > 16 * 1024 * 1024:
                    return
        raise AssertionError(f"it ended after {size} bytes")
    with FakeServer() as plain, FakeServer(fault) as faulty:
        good = post(plain, asked())
        try:
            bad = post(faulty, asked(), Authorization="Bearer me")
        except httpx.TransportError:
            assert name in ("reset", "cut_body", "outage_reset")
            return
    assert (bad.status_code, bad.text) != (good.status_code, good.text)


def exchange(raw: bytes = b"{}", **changes: Any) -> Exchange:
    return Exchange(JEV, {}, raw, (), "", {"model": "m", "answers": answers_for(())}, **changes)


def strikes(text: str, count: int) -> list[bool]:
    plan = FaultPlan(text)
    return [plan.strikes(exchange()) for _ in range(count)]


def test_plans_by_request() -> None:
    assert strikes("html", 4) == [True] * 4
    assert strikes("html@2", 4) == [True, True, False, False]
    assert strikes("html@2-3", 4) == [False, True, True, False]
    struck = strikes("html:0.3", 1000)
    assert 250 < sum(struck) < 350
    assert struck == strikes("html:0.3", 1000)
    assert strikes("cap=26,400@1", 2) == [True, False]
    assert strikes("outage=0.5:1@1", 2) == [True, False]


def test_plans_by_exact_body() -> None:
    bodies = [b"%d" % i for i in range(400)]
    seen: dict[bytes, int] = {}
    by_body, by_try = FaultPlan("refusal%0.5"), FaultPlan("reset~0.5")
    first = [by_body.strikes(exchange(raw, seed=1)) for raw in bodies]
    assert 150 < sum(first) < 250
    assert first == [by_body.strikes(exchange(raw, seed=1)) for raw in bodies]
    assert first != [by_body.strikes(exchange(raw, seed=2)) for raw in bodies]
    tries = [[by_try.strikes(exchange(raw, seen=seen)) for raw in bodies] for _ in range(2)]
    assert all(150 < sum(one) < 250 for one in tries)
    assert tries[0] != tries[1]
    seen.clear()
    backwards = [by_try.strikes(exchange(raw, seen=seen)) for raw in reversed(bodies)]
    assert backwards[::-1] == tries[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *((text, "a number from 0 to 1") for text in ("html:2", "html:x", "html:1.2.3", "html@-1", "html%9")),
        ("cap_move", "no fault 'cap_move': did you mean cap_moves .*--help"),
        *((text, "no fault") for text in ("htlm", "HTML", "", "htlm=3", "=", "html2")),
        ("htlm", "did you mean html"),
        ("html=3", "takes no value"),
        ("cap_moves", "needs a value: cap_moves=N,CAP"),
        ("cap=x", r"must be like cap\[=N,STATUS\]|must be like cap"),
        ("outage=5", "must be like outage=START:SECONDS"),
    ],
)
def test_an_unknown_plan_is_refused(text: str, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        FaultPlan(text)


def test_storm_is_the_same_for_a_body_and_its_try() -> None:
    def storm() -> list[tuple[int, str, dict[str, str]]]:
        seen: dict[bytes, int] = {}
        got = []
        for raw in [b"%d" % (i % 1000) for i in range(4000)]:
            one = exchange(raw, seen=seen, seed=5)
            FaultPlan("storm").strike(one)
            got.append((one.status, one.delivery, one.headers))
        return got

    first = storm()
    assert first == storm()
    counted = Counter((status, delivery) for status, delivery, _ in first)
    for what, share in {
        (200, "reset"): 0.05,
        (429, "whole"): 0.10,
        (529, "whole"): 0.02,
        (504, "whole"): 0.02,
        (200, "slow"): 0.05,
        (200, "whole"): 0.76,
    }.items():
        assert counted[what] / 4000 == pytest.approx(share, abs=0.015)
    assert all(headers["retry-after-ms"] for status, _, headers in first if status == 429)


def test_an_outage_has_a_beginning_and_an_end() -> None:
    for elapsed, status in ((0.5, 200), (1.0, 503), (2.9, 503), (3.0, 200)):
        one = exchange(elapsed_s=elapsed)
        FaultPlan("outage=1:2").strike(one)
        assert one.status == status


def test_limits_that_move() -> None:
    with FakeServer("cap_moves=3,2") as server:
        assert [post(server, body()).status_code for _ in range(4)] == [200, 200, 422, 422]
    with FakeServer("cap=2,400") as server:
        assert post(server, body()).status_code == 400
        assert post(server, body(["a", "b"])).status_code == 200


def test_drift_comes_after_so_many_requests_and_stays() -> None:
    with FakeServer("drift=2") as server:
        got = [post(server, body()).json()["answers"] for _ in range(4)]
    assert got[0] == got[1] != got[2] == got[3]


def test_jitter_moves_the_second_decimal_from_repeat_to_repeat() -> None:
    options = [f"option {i}" for i in range(20)]
    with FakeServer("round2") as plain, FakeServer("jitter") as server:
        still = post(plain, body(options)).json()["answers"]["choose"]["probabilities"]
        got = [post(server, body(options)).json()["answers"]["choose"]["probabilities"] for _ in range(2)]
    assert got[0] != got[1]
    assert all(abs(p - still[name]) < 0.0101 for moved in got for name, p in moved.items())


def test_order_faults_depend_on_the_order() -> None:
    options = ["a", "b", "c", "d"]
    for fault in ("order_dependent", "never_first", "always_first", "refusal_order"):
        with FakeServer(fault) as server:
            forth, back = (
                post(server, body(o)).json()["answers"]["choose"] for o in (options, options[::-1])
            )
        assert forth != back
    with FakeServer("never_first") as server:
        assert all(
            post(server, body([first, *(o for o in options if o != first)])).json()["answers"]["choose"][
                "choice"
            ]
            != first
            for first in options
        )


def test_refusals_of_a_share_of_bodies_come_again_and_go_with_the_order() -> None:
    with FakeServer("refusal%0.5") as server, httpx.Client(trust_env=False) as client:

        def refused(options: list[str]) -> bool:
            got = client.post(server.base_url + "/systemone", json=body(options)).json()
            return bool(got["answers"]["choose"]["type"] == "refusal")

        first = [refused([f"{i}", "x", "y"]) for i in range(60)]
        assert 10 < sum(first) < 50
        assert first == [refused([f"{i}", "x", "y"]) for i in range(60)]
        assert first != [refused(["x", f"{i}", "y"]) for i in range(60)]


def test_one_option() -> None:
    with FakeServer("zero_tokens_one") as server:
        one, two = (post(server, body(o)).json()["usage"]["input_tokens"] for o in (["a"], ["a", "b"]))
    assert (one, two > 0) == (0, True)
    with FakeServer("crash_one_option") as server:
        assert [post(server, body(o)).status_code for o in (["a"], ["a", "b"])] == [500, 200]
