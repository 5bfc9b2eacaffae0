"""The Jev client over real HTTP, against the test server."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import socket
import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from beeline.archive import answer_from, answer_line
from beeline.errors import HostError, ModelError, SettingError
from beeline.model_arm import option_weights
from beeline.question import Answer
from beeline.services import Estimate, Services
from beeline.spend_caps import tokens
from protocols.fake import FakeServer
from protocols.fake.answers import weight
from protocols.systemone import EscapedOptions, SystemOne, SystemOneSettings
from tests.protocols.asking import Script, ask, question, reply, system_one

OPTIONS_255 = tuple(f"{i} stands on {i * 7 % 255}" for i in range(255))
STRANGE = (
    "1 2 3 | 4 5 6 | 7 8 ·",
    "caf\u00e9",
    "cafe\u0301",
    "\u2603 \U0001f41d",
    'quote " backslash \\ slash /',
    "tab\tnewline\nnull\x00bell\x07del\x7f",
    "\u2028\u2029\ufeff",
    "{}[],:",
    " ",
    "constructor",
    "__proto__",
    "10",
    "2",
)


def shares(options: tuple[str, ...]) -> dict[str, float]:
    weights = {option: weight(option) for option in options}
    return {option: w / sum(weights.values()) for option, w in weights.items()}


# --- requests -------------------------------------------------------------------------------


def test_the_request_is_exactly_the_protocol_and_no_more() -> None:
    asked = question("B\u00c4C", 'C"AB', goal="A\nB")
    with FakeServer() as server:
        ask(system_one(server.base_url), asked)
        body, headers = server.last_body, server.last_headers
    assert json.loads(body) == {
        "model": "test-model",
        "state": {"task": "Reach the goal.", "goal": "A\nB", "context": "Letters swap."},
        "questions": {
            "choose": {
                "type": "choice",
                "instructions": "Which?",
                "criteria": {"B\u00c4C": None, 'C"AB': None},
            }
        },
    }
    assert list(json.loads(body)) == ["model", "state", "questions"]
    assert "B\u00c4C".encode() in body  # sent as it is, not as an escape
    assert headers["Content-Type"] == "application/json"
    assert headers["User-Agent"].startswith("beeline-bench/")
    assert "Authorization" not in headers


def test_options_keep_the_order_shown() -> None:
    client = system_one("http://host/v1")
    for shown in (OPTIONS_255, OPTIONS_255[::-1]):
        body = json.loads(client.request_body(question(*shown)))
        assert tuple(body["questions"]["choose"]["criteria"]) == shown


@given(st.lists(st.text(), min_size=2, max_size=8, unique=True), st.text(), st.text())
def test_any_text_arrives_byte_for_byte(options: list[str], goal: str, context: str) -> None:
    client = system_one("http://host/v1")
    asked = question(*options, goal=goal, context=context)
    body = json.loads(client.request_body(asked))
    assert list(body["questions"]["choose"]["criteria"]) == options
    assert (body["state"]["goal"], body["state"]["context"]) == (goal, context)


def test_a_lone_surrogate_is_sent_escaped() -> None:
    body = system_one("http://host/v1").request_body(question("a\ud800", "b"))
    assert b'"a\\ud800":null' in body


def test_the_cache_of_option_texts_is_bounded() -> None:
    class Small(EscapedOptions):
        most = 10

    cache = Small()
    for i in range(35):
        assert cache[f"o{i}"] == f'"o{i}":null'.encode()
        assert len(cache) <= 10
    client = system_one("http://host/v1")
    for i in range(5000):
        client.request_body(question(goal=str(i)))
    assert len(client._heads) <= 4096


@pytest.mark.parametrize("options", [("one",), tuple(map(str, range(27)))])
def test_too_few_or_too_many_options_are_never_sent(options: tuple[str, ...]) -> None:
    with FakeServer() as server:
        with pytest.raises(ModelError, match=f"takes 2 to 26 options a question, not {len(options)}"):
            ask(system_one(server.base_url, max_options=26), question(*options))
        assert server.requests == 0


def test_two_options_with_one_text_are_never_sent() -> None:
    with FakeServer() as server:
        with pytest.raises(ModelError, match="two options of a question have the same text, 'B'"):
            ask(system_one(server.base_url), question("A", "B", "C", "B"))
        assert server.requests == 0


# --- good replies ---------------------------------------------------------------------------


def test_an_answer_with_255_options() -> None:
    with FakeServer() as server:
        [answer] = ask(system_one(server.base_url), question(*OPTIONS_255))
        assert answer.input_tokens == len(server.last_body) // 4 + 1
    expected = shares(OPTIONS_255)
    assert answer.probabilities == expected
    assert answer.choice == max(expected, key=expected.__getitem__)
    assert (answer.output_tokens, answer.served_model, answer.retries) == (1, "test-model", 0)
    assert answer.cost_usd is None
    assert 0 < answer.seconds < 5
    assert option_weights(answer, OPTIONS_255) == (list(expected.values()), None)


def test_strange_names_come_back_byte_for_byte() -> None:
    with FakeServer("reorder") as server:
        [answer] = ask(system_one(server.base_url), question(*STRANGE))
    assert answer.probabilities == shares(STRANGE)


def test_many_questions_at_once_get_their_own_answers() -> None:
    asked = [question(*(f"{i}-{j}" for j in range(i % 7 + 2))) for i in range(60)]
    with FakeServer(latency_ms=1) as server:
        answers = ask(system_one(server.base_url, concurrency=20), *asked, together=True)
    assert [a.probabilities for a in answers] == [shares(q.options) for q in asked]


@pytest.mark.parametrize(
    ("fault", "tokens"),
    [("no_usage", None), ("camel_usage", 1), ("float_usage", 1), ("envelope", 1)],
)
def test_usage_is_read_in_every_form_and_never_made_up(fault: str, tokens: int | None) -> None:
    with FakeServer(fault) as server:
        [answer] = ask(system_one(server.base_url, price_input=0.5, price_output=2.0), question())
        size = len(server.last_body) // 4 + 1
    assert answer.output_tokens == tokens
    assert answer.input_tokens == (None if tokens is None else size)
    assert answer.cost_usd == (None if tokens is None else pytest.approx(size * 0.5e-6 + 2e-6))


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"input_tokens": 0, "output_tokens": 0}, (None, 0)),  # no question of ours has none
        ({"input_tokens": -1, "output_tokens": "5"}, (None, None)),
        ({"input_tokens": True, "output_tokens": None}, (None, None)),
        ({"input_tokens": float("nan"), "output_tokens": 10**400}, (None, None)),
        ([], (None, None)),
        ("many", (None, None)),
    ],
)
def test_counts_that_are_none_stay_unknown(usage: Any, counts: tuple[int | None, int | None]) -> None:
    answer = read({"model": "test-model", "answers": GOOD, "usage": usage})
    assert (answer.input_tokens, answer.output_tokens) == counts


@pytest.mark.parametrize(
    "body",
    [
        '{"model":"test-model","answers":{"choose":{"probabilities":{"BAC":0.9,"CAB":0.1,"BAC":0.01}}}}',
        '{"model":"test-model","answers":{"choose":{"probabilities":{"BAC":1}},"choose":{"probabilities":{}}}}',
    ],
)
def test_what_is_said_twice_is_no_answer(body: str) -> None:
    client = SystemOne("test", SystemOneSettings(base_url="http://host/v1", id="test-model"))
    answer = client.read_reply(body.encode(), question())
    assert answer.problem == "a reply that says something twice"
    assert not answer.probabilities


def test_more_tokens_or_dollars_than_a_request_can_take_are_not_believed() -> None:
    usage = {"input_tokens": 5e9, "output_tokens": 1, "cost": 999_999.0}
    answer = read({"model": "test-model", "answers": GOOD, "usage": usage}, price_input=1.0)
    assert (answer.input_tokens, answer.output_tokens, answer.cost_usd) == (None, 1, None)


def test_a_host_that_counts_absurdly_does_not_open_the_cap() -> None:
    body = {"model": "test-model", "answers": GOOD, "usage": {"input_tokens": 10**9, "output_tokens": 1}}
    script = Script(reply(200, json.dumps(body).encode()))
    client = SystemOne(
        "test", SystemOneSettings(base_url="http://host/v1", id="test-model"), transport=script
    )
    expected: list[Estimate] = []

    class Noting:
        def begin(self, estimate: Estimate) -> int:
            expected.append(estimate)
            return len(expected)

        def settle(self, ticket: int, took: Estimate) -> None: ...
        def reject(self, ticket: int) -> None: ...
        def unknown(self, ticket: int) -> None: ...

    client.attach(Services(meter=Noting()))
    ask(client, question(), question(*OPTIONS_255))
    # What the ledger cannot hold it counts as unknown, and then no cap holds.
    assert tokens(expected[1].input_tokens) == expected[1].input_tokens == 100 * len(script.sent[1])


@pytest.mark.parametrize(("stated", "price", "cost"), [(0.0, 2.0, 1e-4), (0.0, 0.0, 0.0), (0.5, 2.0, 0.5)])
def test_a_stated_cost_counts_unless_it_is_nothing_for_a_model_with_a_price(
    stated: float, price: float, cost: float
) -> None:
    usage = {"input_tokens": 50, "output_tokens": 1, "cost": stated}
    answer = read({"model": "test-model", "answers": GOOD, "usage": usage}, price_input=price)
    assert answer.cost_usd == pytest.approx(cost)


def test_cost_needs_what_is_charged_for() -> None:
    body = {"model": "test-model", "answers": GOOD, "usage": {"input_tokens": 1_000_000}}
    assert read(body, price_input=0.25).cost_usd == 0.25  # output is free
    assert read(body, price_input=0.25, price_output=1.0).cost_usd is None


# --- the model that answered ----------------------------------------------------------------


def test_another_model_stops_the_run_naming_both() -> None:
    with FakeServer("other_model") as server, pytest.raises(ModelError) as caught:
        ask(system_one(server.base_url), question())
    said = str(caught.value)
    assert "for the model test-model, but another-model-2.0 answered" in said
    assert "'model.served_names=[another-model-2.0]'" in said


def test_a_served_name_may_be_expected() -> None:
    with FakeServer("dated_model") as server:
        with pytest.raises(ModelError, match="test-model-20260917 answered"):
            ask(system_one(server.base_url), question())
        [answer] = ask(system_one(server.base_url, served_names=("test-model-20260917",)), question())
    assert answer.served_model == "test-model-20260917"


def test_a_reply_without_model_is_unknown_and_no_change() -> None:
    with FakeServer("no_model") as server:
        [answer] = ask(system_one(server.base_url), question())
    assert answer.served_model is None
    assert answer.probabilities == shares(question().options)


# --- answers that say nothing ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("empty_map", "an empty map"),
        ("all_zero", "all zero"),
        ("nan", "no finite probability above zero"),
        ("foreign_names", "none of the shown options named"),
        ("no_probabilities", "an answer without probabilities"),
        ("pairs", "probabilities that are not a map from option to number"),
        ("no_answer", "no answer to the question in the reply"),
        ("html", "not JSON but an HTML page titled 'Welcome'"),
        ("empty_body", "not JSON but an empty body"),
        ("broken_json", None),
        ("deep_json", None),
        ("error_200", "no answer to the question in the reply: upstream had no answer (502)"),
        ("refusal", "refused"),
        ("huge_body", "a body above 8 MiB"),
    ],
)
def test_an_unusable_reply_is_an_unusable_answer_with_its_reason(fault: str, reason: str | None) -> None:
    with FakeServer(fault) as server:
        [answer] = ask(system_one(server.base_url), question())
        assert server.requests == 1  # asking again, in another order, is the arm's business
    weights, problem = option_weights(answer, question().options)
    assert not any(weights)
    assert answer.refused == (fault == "refusal")
    if reason is not None:
        assert problem == reason
    else:
        assert problem is not None
        assert problem.startswith("not JSON but [") or problem.startswith("not JSON but {")


@pytest.mark.parametrize(
    "fault", ["round2", "sum_low", "sum_high", "extra_option", "drop_option", "disagree"]
)
def test_an_odd_map_is_still_an_answer(fault: str) -> None:
    with FakeServer(fault) as server:
        [answer] = ask(system_one(server.base_url), question())
    weights, problem = option_weights(answer, question().options)
    assert problem is None
    assert sum(w > 0 for w in weights) >= 2
    assert answer.choice in question().options


GOOD = {"choose": {"type": "choice", "choice": "BAC", "probabilities": {"BAC": 0.75, "CAB": 0.25}}}


def read(body: Any, **settings: Any) -> Answer:
    """The Answer for a JSON value or bytes."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    model = SystemOne(
        "test",
        SystemOneSettings(base_url="http://host/v1", id="test-model", **settings),
        transport=Script(reply(200, raw)),
    )
    [answer] = ask(model, question())
    return answer


def test_the_envelope_of_a_failure_is_an_error_of_the_host() -> None:
    with (
        FakeServer("envelope_failed") as server,
        pytest.raises(HostError, match=r"inference failed \(5012\)"),
    ):
        ask(system_one(server.base_url), question())


def test_a_byte_order_mark_is_no_harm() -> None:
    assert read(b"\xef\xbb\xbf" + json.dumps({"answers": GOOD}).encode()).choice == "BAC"


def test_giant_numbers_are_not_finite() -> None:
    body = b'{"answers":{"choose":{"probabilities":{"BAC":%s,"CAB":0.5}}}}' % (b"9" * 6000)
    weights, problem = option_weights(read(body), question().options)
    assert (weights, problem) == ([0.0, 0.5, 0.0], None)


def test_a_foreign_choice_is_kept_short_and_writable() -> None:
    answer = read({"answers": {"choose": {"choice": "x\ud800" * 9999, "probabilities": {"BAC": 1}}}})
    assert answer.choice is not None
    assert len(answer.choice) <= 300
    answer.choice.encode()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["choose", "type", "choice", "probabilities", "BAC", "CAB"]), inner)
    ),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=200)
@given(
    st.dictionaries(
        st.sampled_from(["answers", "usage", "result", "success", "error", "detail"]), json_values
    )
    | json_values
    | st.binary(max_size=200)
)
def test_no_reply_is_a_crash_or_a_silent_pick(body: Any) -> None:
    try:
        answer = read(body)
    except HostError:
        assert isinstance(body, dict)
        assert "success" in body
        return
    weights, problem = option_weights(answer, question().options)
    assert (problem is None) == any(w > 0 for w in weights)
    assert all(math.isfinite(w) and w >= 0 for w in weights)


# --- failures of the host -------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        *("reset", "cut_body", "rate_limit", "rate_limit_ms", "rate_limit_seconds", "rate_limit_date"),
        *("overloaded", "server_error", "gateway_timeout", "gateway_524"),
    ],
)
def test_a_passing_fault_is_retried_and_counted(fault: str) -> None:
    with FakeServer(f"{fault}@2") as server:
        [answer] = ask(system_one(server.base_url), question())
        assert server.requests == 3
    assert answer.retries == 2
    assert answer.probabilities == shares(question().options)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("wrong_key", "it answered 401 Unauthorized: Incorrect API key provided: "),
        ("no_credit", r"402 .*Insufficient credits \(402\)\. The account has no credit left"),
        ("credit", r"You exceeded your current quota \(insufficient_quota\)"),
        ("allocation", r"daily free allocation of 10,000 neurons \(4006\)"),
        ("too_many_tokens", "400 Bad Request: max_tokens_exceeded"),
        ("unprocessable", "body.questions.choose.criteria: at most 26 options"),
        ("unknown_model", "test-model does not exist"),
        ("empty_405", "405 Method Not Allowed: an empty body"),
        ("moved", "307 Temporary Redirect: an empty body. Check model.base_url"),
    ],
)
def test_a_final_answer_is_not_retried(fault: str, said: str) -> None:
    with FakeServer(fault) as server:
        with pytest.raises(HostError, match=said):
            ask(system_one(server.base_url), question())
        assert server.requests == 1


def test_a_wrong_path_says_what_to_check() -> None:
    with FakeServer() as server, pytest.raises(HostError, match=r"404 .*Check model\.base_url"):
        ask(system_one(server.base_url.removesuffix("/v1")), question())


def test_a_server_that_is_down_is_said_to_be_down() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets the port
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(HostError) as caught:
            ask(system_one(address), question())
    assert str(caught.value).startswith(f"nothing answers at {address}/systemone (connect")
    assert str(caught.value).endswith("3 tries): start the server, or correct model.base_url")


def test_an_unknown_host_is_said_to_be_so() -> None:
    with pytest.raises(HostError, match=r"nothing answers at http://no-such-host\.invalid/v1/systemone"):
        ask(system_one("http://no-such-host.invalid/v1"), question())


@pytest.mark.parametrize("fault", ["silent", "slow_body"])
def test_a_server_that_is_too_slow_ends_with_the_limit(fault: str) -> None:
    with (
        FakeServer(fault) as server,
        pytest.raises(HostError, match=r"no answer within 0\.1 s.*raise model\.timeout_s"),
    ):
        ask(system_one(server.base_url, timeout_s=0.1, retries=1), question())


def test_something_that_speaks_no_http() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def serve() -> None:
            for _ in range(3):
                peer, _ = listening.accept()
                with peer:
                    peer.recv(65536)
                    peer.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(HostError, match="3 tries failed, the last because what came back is not HTTP"):
            ask(system_one(f"http://127.0.0.1:{port}/v1"), question())
        thread.join()


# --- keys -----------------------------------------------------------------------------------

KEY = "sk-planted-0123456789abcdef"


def test_the_key_is_sent_and_shown_nowhere(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    seen: list[str] = []
    for fault in ("round2", "wrong_key", "reset", "other_model", "html"):
        with FakeServer(fault, key=KEY) as server:
            model = system_one(server.base_url, key_variable="TEST_KEY", retries=1)
            try:
                seen.append(repr(ask(model, question())))
            except ModelError as error:
                seen.append(f"{error!r} {error.__cause__!r} {error.__context__!r}")
            seen += [repr(model), repr(model.describe()), repr(vars(model))]
            assert server.last_headers["Authorization"] == f"Bearer {KEY}"
    written = capfd.readouterr()
    assert "Incorrect API key provided: ***" in "".join(seen)
    assert KEY not in "".join([*seen, caplog.text, written.out, written.err])
    assert "TEST_KEY" in repr(model.describe())


def test_without_its_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_KEY", raising=False)
    with FakeServer() as server:
        model = system_one(server.base_url, key_variable="TEST_KEY")
        with pytest.raises(SettingError, match="TEST_KEY"):
            model.check()
        with pytest.raises(SettingError, match="TEST_KEY"):
            ask(model, question())
        assert server.requests == 0


def test_a_host_that_wants_a_key_says_which_setting_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "wrong")
    with FakeServer(key=KEY) as server:
        with pytest.raises(HostError, match=r"403 .*model\.key_variable=NAME"):
            ask(system_one(server.base_url), question())
        with pytest.raises(HostError, match=r"401 .*Check the key in TEST_KEY"):
            ask(system_one(server.base_url, key_variable="TEST_KEY"), question())


# --- settings -------------------------------------------------------------------------------


def test_what_to_type_when_nothing_is_set() -> None:
    with pytest.raises(SettingError) as caught:
        SystemOne.from_settings("local", {"base_url": None, "id": None})
    assert str(caught.value) == (
        "model.base_url is not set; model.id is not set. Say where a server that speaks the Jev protocol "
        "listens and which model to ask it for: "
        "python -m beeline model=local model.base_url=http://127.0.0.1:8000/v1 model.id=NAME"
    )


@pytest.mark.parametrize(
    ("base_url", "said"),
    [
        ("127.0.0.1:8000/v1", "must start with http:// or https://"),
        ("ftp://host/v1", "must start with http:// or https://"),
        ("http://", "name a host"),
        ("http://host:99999/v1", "is not an address"),
        ("http://host/v1?key=abc", "may not hold"),
        ("host/v1?key=abc", "must start with http:// or https://"),
        ("http://[::1/v1", "is not an address"),
    ],
)
def test_a_bad_address_is_refused_at_once(base_url: str, said: str) -> None:
    with pytest.raises(SettingError, match=said) as caught:
        SystemOne.from_settings("local", {"base_url": base_url, "id": "m"})
    assert "abc" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"key_variable": KEY},  # the key where its variable belongs
        {"account_variable": KEY},
        {"path": f"/systemone?version=1&api-key={KEY}"},
        {"key_prefix": f"{KEY}\nX: "},
        {"key_header": "no header"},
    ],
)
def test_a_key_in_the_wrong_place_is_refused_unseen(wrong: dict[str, str]) -> None:
    with pytest.raises(SettingError) as caught:
        SystemOne.from_settings("local", {"base_url": "http://host/v1", "id": "m", **wrong})
    assert KEY not in str(caught.value)
    assert f"model.{next(iter(wrong))}" in str(caught.value)


def test_a_path_may_have_a_query_that_holds_no_key() -> None:
    settings = {"base_url": "http://host/v1", "id": "m", "path": "/systemone?api-version=2026-10-01"}
    assert SystemOne.from_settings("local", settings).url.endswith("api-version=2026-10-01")


def test_a_password_in_the_address_is_refused_unseen() -> None:
    with pytest.raises(SettingError) as caught:
        SystemOne.from_settings("local", {"base_url": f"https://me:{KEY}@host/v1", "id": "m"})
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("base_url", "path"),
    [("http://h/v1", "/systemone"), ("http://h/v1/", "systemone"), ("http://h", "v1/systemone")],
)
def test_address_and_path_join_with_one_slash(base_url: str, path: str) -> None:
    model = SystemOne.from_settings("local", {"base_url": base_url, "id": "m", "path": path})
    assert model.url == "http://h/v1/systemone"


def test_asked_before_open() -> None:
    with pytest.raises(RuntimeError, match="before open"):
        asyncio.run(system_one("http://h/v1").answer(question()))


# --- replies that are kept ------------------------------------------------------------------


@pytest.mark.parametrize("key", ["CAB", "0", "test-model", "choose", KEY])
def test_what_is_kept_says_what_the_reply_said(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is also a word of the answer is masked in its body, which then says something else."""
    monkeypatch.setenv("SHORT", key)
    probabilities = {"BAC": 0.25, "CAB": 0.5, f"the key {key}": 0.5}
    given = {"type": "choice", "choice": f"key {key}", "probabilities": probabilities}
    body = {"model": "test-model", "answers": {"choose": given}, "usage": {"input_tokens": 100}}
    settings = SystemOneSettings(base_url="http://host/v1", id="test-model", key_variable="SHORT")
    client = SystemOne("test", settings, transport=Script(reply(200, json.dumps(body).encode())))
    client.attach(Services(keep_replies=True))
    [answer] = ask(client, question())
    line = answer_line(question(), answer)
    again = client.reread(line["body"].encode(), question()) if "body" in line else answer_from(line)
    # A true key stands only among names that are no option: the body can stay.
    assert ("body" in line) == (key == KEY)
    assert KEY not in json.dumps(line)
    assert (f"the key {key}" in answer.probabilities) == (key == KEY)
    shown = question().options
    assert option_weights(again, shown) == option_weights(answer, shown) == ([0.25, 0.5, 0.0], None)
    assert (again.choice, again.problem, again.input_tokens) == (answer.choice, None, 100)
