"""Every configured host against the test server, which speaks and fails as that host does."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from beeline.errors import HostError, ModelError, SettingError
from beeline.model_arm import option_weights
from beeline.question import Answer
from beeline.services import Estimate, Services
from protocols.decisions import DecisionModel
from protocols.fake import FakeServer
from protocols.fake.answers import weight
from protocols.hosted import HostedModel
from protocols.systemone import SystemOne, SystemOneSettings
from tests.protocols.asking import Script, ask, no_sleep, question, reply, system_one
from tests.protocols.test_model_configs import MODELS

KEY, ACCOUNT = "sk-planted-0123456789abcdef", "acc0unt-fedcba9876543210"
DECIDERS = {name: model for name, model in MODELS.items() if isinstance(model, DecisionModel)}
#: Where the test server has what these hosts have under another path.
PATHS = {"local": "/v1", "fireworks": "/v1", "clef_venice": "/v1"}
OPTIONS = tuple(f"{i} stands on {i * 7 % 255}" for i in range(255))
CLOUDFLARE = ("clef", "clef_flash")


def at(server: FakeServer, name: str, **more: Any) -> HostedModel:
    """The model of a file, sent to the test server in place of its host."""
    model = MODELS[name]
    path = PATHS.get(name, urlsplit(model.settings.base_url).path)
    settings = replace(model.settings, base_url=server.origin + path, timeout_s=5.0, **more)
    return type(model)(name, settings, sleep=no_sleep)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for model in MODELS.values():
        if model.settings.key_variable:
            monkeypatch.setenv(model.settings.key_variable, KEY)
        if model.settings.account_variable:
            monkeypatch.setenv(model.settings.account_variable, ACCOUNT)


def shares(options: tuple[str, ...]) -> dict[str, float]:
    weights = {option: weight(option) for option in options}
    return {option: w / sum(weights.values()) for option, w in weights.items()}


# --- right answers ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", DECIDERS)
def test_each_configured_model_gets_the_right_answer(name: str) -> None:
    options = OPTIONS[: MODELS[name].max_options]
    key = KEY if MODELS[name].settings.key_variable else None
    with FakeServer(key=key) as server:
        model = at(server, name)
        [answer] = ask(model, question(*options))
        [shape] = server.counters.shapes
        path = server.counters.last_path
    assert answer.probabilities == pytest.approx(shares(options), abs=1e-4)
    assert option_weights(answer, options)[1] is None
    assert answer.choice == max(shares(options).items(), key=lambda pair: pair[1])[0]
    assert answer.input_tokens is not None
    assert answer.input_tokens > 100
    # Google's replies name no model.
    served = (None,) if name == "gemini" else (model.model_id, *model.settings.served_names)
    assert answer.served_model in served
    if model.settings.price_input is not None:
        assert answer.cost_usd is not None
        assert answer.cost_usd > 0
    expected = {
        "luna": "openai",
        "gemini": "gemini",
        "pplx_decider": "perplexity",
        "d1": "openrouter",
        "clef": "cloudflare",
        "jev": "jev",
    }
    assert shape == expected.get(name, shape)
    if name in CLOUDFLARE:
        assert path == f"/client/v4/accounts/{ACCOUNT}/ai/run/@cf/cloudflare/{model.model_id}"
        assert json.loads(server.counters.last_body)["model"] == path.rpartition("/")[2]


@pytest.mark.parametrize("name", ["jev_openrouter", "luna_openrouter", "d1", "mercury_decide", "kev_4b"])
def test_openrouter_serves_a_dated_build_and_states_the_cost(name: str) -> None:
    with FakeServer() as server:
        # The host's own figure counts, not ours.
        [answer] = ask(at(server, name, price_input=99.0), question())
    assert answer.served_model is not None
    assert answer.served_model.startswith(f"{MODELS[name].model_id}-2026")
    assert answer.cost_usd is not None
    assert answer.input_tokens is not None
    assert 0 < answer.cost_usd < 1e-6 * answer.input_tokens
    assert answer.request_id == "gen-dec-1"


@pytest.mark.parametrize(("name", "start"), [("jev", "fake-"), ("clef", "fake-"), ("luna", "req_")])
def test_the_hosts_name_for_a_request_is_kept(name: str, start: str) -> None:
    with FakeServer() as server:
        [answer] = ask(at(server, name), question())
    assert answer.request_id is not None
    assert answer.request_id.startswith(start)


def test_venice_bills_output_too() -> None:
    with FakeServer() as server:
        [answer] = ask(at(server, "clef_venice"), question())
    assert answer.input_tokens is not None
    assert answer.cost_usd == pytest.approx((answer.input_tokens + 1) * 0.05e-6)


# --- wrong models, failures, refusals ----------------------------------------------------------


@pytest.mark.parametrize("name", DECIDERS)
def test_another_model_ends_the_run(name: str) -> None:
    with FakeServer("other_model") as server, pytest.raises(ModelError) as caught:
        ask(at(server, name), question())
    said = str(caught.value)
    assert f"for the model {MODELS[name].model_id}, but another-model-2.0 answered" in said
    assert ACCOUNT not in said


def test_a_newer_build_behind_a_name_is_another_model() -> None:
    with FakeServer() as server, pytest.raises(ModelError, match="but liquid/d1-20260930 answered"):
        ask(at(server, "d1", served_names=("liquid/d1-20260901",)), question())


@pytest.mark.parametrize("name", CLOUDFLARE)
def test_an_envelope_that_failed_is_an_error_even_with_200(name: str) -> None:
    with FakeServer("envelope_failed") as server, pytest.raises(HostError) as caught:
        ask(at(server, name), question())
    assert "the host says that the request failed: " in str(caught.value)
    assert "(5012)" in str(caught.value)
    assert ACCOUNT not in str(caught.value)


@pytest.mark.parametrize("success", [False, None, "true", 1])
def test_only_success_true_is_success(success: Any) -> None:
    body = {"result": {"answers": {"choose": {"probabilities": {"BAC": 1.0}}}}, "success": success}
    with pytest.raises(HostError, match="the request failed"):
        scripted(body)


class Paid:
    """A meter that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int | None]] = []

    def begin(self, expected: Estimate) -> int:
        assert expected.input_tokens is not None
        return len(self.told)

    def settle(self, ticket: int, took: Estimate) -> None:
        self.told.append(("settled", took.input_tokens))

    def reject(self, ticket: int) -> None:
        self.told.append(("rejected", None))

    def unknown(self, ticket: int) -> None:
        self.told.append(("unknown", None))


@pytest.mark.parametrize(
    ("fault", "told"),
    [("round2", "known"), ("other_model", "settled"), ("envelope_failed", "settled"), ("html", "settled")],
)
def test_whatever_comes_back_the_reservation_is_settled(fault: str, told: str) -> None:
    meter = Paid()
    with FakeServer(fault) as server:
        model = at(server, "clef")
        model.attach(Services(meter=meter))
        with suppress(ModelError):
            ask(model, question())
    [(how, tokens)] = meter.told
    assert how == "settled"
    # Where the reply does not say, what was reserved stays.
    assert (tokens is not None) == (told == "known")


@pytest.mark.parametrize("result", [None, [], "x"])
def test_a_success_without_a_result_is_no_answer(result: Any) -> None:
    answer = scripted({"result": result, "success": True, "errors": []})
    assert answer.problem == "no answer to the question in the reply"


def scripted(body: Any, **settings: Any) -> Answer:
    chosen = SystemOneSettings(base_url="http://host/v1", id="test-model", **settings)
    model = SystemOne("test", chosen, transport=Script(reply(200, json.dumps(body).encode())))
    [answer] = ask(model, question())
    return answer


@pytest.mark.parametrize("name", DECIDERS)
@pytest.mark.parametrize("fault", ["refusal", "refusal_error"])
def test_a_refusal_is_one_in_whatever_form_it_comes(name: str, fault: str) -> None:
    with FakeServer(fault) as server:
        [answer] = ask(at(server, name), question())
        assert server.requests == 1
    assert answer.refused
    assert option_weights(answer, question().options)[1] == "refused"


def test_more_options_than_the_host_takes_are_never_sent() -> None:
    with FakeServer() as server:
        for name, most in (("fireworks", 208), ("solar_decide", 26)):
            with pytest.raises(ModelError, match=f"takes 2 to {most} options a question, not {most + 1}"):
                ask(at(server, name), question(*OPTIONS[: most + 1]))
        assert server.requests == 0


def test_a_host_that_takes_fewer_options_than_its_file_says_ends_the_run() -> None:
    with FakeServer("cap=208") as server:
        with pytest.raises(HostError, match="takes this many options"):
            ask(at(server, "jev"), question(*OPTIONS))
        assert server.requests == 1


def test_a_question_that_cannot_fit_is_not_sent() -> None:
    with FakeServer() as server:
        with pytest.raises(ModelError, match=r"cannot fit the 8,192 tokens that model kev_4b reads"):
            ask(at(server, "kev_4b"), question("x" * 90_000, "y"))
        assert server.requests == 0


@pytest.mark.parametrize(("context", "short"), [(8192, True), (65536, False)])
def test_as_many_tokens_as_the_model_reads_is_suspicious(context: int, short: bool) -> None:
    with FakeServer("truncate=8192") as server:
        [answer] = ask(at(server, "clef", context_tokens=context), question("x" * 40_000, "y" * 20_000))
    assert answer.input_tokens == 8192
    assert answer.short_usage == short


def test_far_too_few_tokens_are_suspicious() -> None:
    with FakeServer("truncate=2048") as server:
        [answer] = ask(at(server, "clef"), question("x" * 40_000, "y" * 20_000))
    assert answer.short_usage


# --- the character that Cloudflare refuses ------------------------------------------------------

SLASHED = ("a/b", "a|b", "/", "cafe/\u0301", "plain")
SWAP = "\u2215"


@pytest.mark.parametrize("name", CLOUDFLARE)
def test_a_refused_character_makes_the_round_trip(name: str) -> None:
    asked = question(*SLASHED, task="t/t", goal="reach a/b", context="/ is a slash", instructions="a or a/b?")
    with FakeServer() as server:
        [answer] = ask(at(server, name), asked)
        sent = json.loads(server.counters.last_body)
        assert server.requests == 1
    assert list(sent["questions"]["choose"]["criteria"]) == [o.replace("/", SWAP) for o in SLASHED]
    assert sent["state"] == {
        "task": f"t{SWAP}t",
        "goal": f"reach a{SWAP}b",
        "context": f"{SWAP} is a slash",
    }
    assert sent["questions"]["choose"]["instructions"] == f"a or a{SWAP}b?"
    assert set(answer.probabilities) == set(SLASHED)
    assert answer.choice in SLASHED
    by_sent = shares(tuple(o.replace("/", SWAP) for o in SLASHED))
    back = {option.replace(SWAP, "/"): p for option, p in by_sent.items()}
    assert answer.probabilities == pytest.approx(back, abs=1e-4)


def test_without_the_rule_the_host_refuses_and_ends_the_run() -> None:
    with FakeServer() as server, pytest.raises(HostError, match=r"422 .*invalid character"):
        ask(at(server, "clef", replace=None), question(*SLASHED))


def test_a_question_without_the_character_is_sent_as_it_is() -> None:
    with FakeServer() as server:
        model = at(server, "clef")
        asked = question()
        assert model._replaced(asked, model.settings.replace or {}) is asked


@pytest.mark.parametrize("part", ["task", "goal", "context", "instructions", "option"])
def test_a_question_that_holds_the_stand_in_is_not_sent(part: str) -> None:
    text = f"one {SWAP} half"
    asked = question("a/b", text) if part == "option" else question(**{part: text})
    with FakeServer() as server:
        with pytest.raises(ModelError) as caught:
            ask(at(server, "clef"), asked)
        assert server.requests == 0
    assert f"model.replace sends {SWAP!r} for '/', but the question holds {SWAP!r} already" in str(
        caught.value
    )
    assert repr(text) in str(caught.value)
    assert "choose another character" in str(caught.value)


def test_two_options_that_become_alike_are_not_sent() -> None:
    with FakeServer() as server:
        model = system_one(server.base_url, replace={"/": "xx", "|": "x"})
        with pytest.raises(ModelError, match="makes two options alike"):
            ask(model, question("//", "/||"))
        assert server.requests == 0


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ({"/": "//"}, "which holds a character that is replaced itself"),
        ({"/": "|", "|": "!"}, "which holds a character that is replaced itself"),
        ({"/": "|", "\\": "|"}, "sends the same character for two"),
    ],
)
def test_a_replacement_that_cannot_be_undone_is_refused_at_once(pairs: dict[str, str], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        system_one("http://host/v1", replace=pairs)


def test_a_kept_reply_is_read_with_the_same_replacement() -> None:
    asked = question("a/b", "c")
    body = {
        "model": "clef",
        "answers": {"choose": {"choice": f"a{SWAP}b", "probabilities": {f"a{SWAP}b": 1.0}}},
    }
    answer = MODELS["clef"].reread(json.dumps({"result": body, "success": True}).encode(), asked)
    assert (answer.choice, answer.probabilities) == ("a/b", {"a/b": 1.0})


# --- accounts and keys ----------------------------------------------------------------------


def test_an_address_with_an_account_needs_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingError, match=r"model\.account_variable=NAME"):
        system_one("http://host/{account}")
    monkeypatch.delenv("CLOUDFLARE_ACCOUNT_ID")
    with pytest.raises(SettingError, match="CLOUDFLARE_ACCOUNT_ID"):
        MODELS["clef"].check()


@pytest.mark.parametrize(
    "fault",
    [
        None,
        "refusal",
        "wrong_key",
        "credit",
        "allocation",
        "other_model",
        "envelope_failed",
        "html",
        "error_200",
        "unprocessable",
        "empty_405",
        "moved",
        "too_many_tokens",
        "server_error",
        "reset",
        "broken_json",
    ],
)
def test_account_and_key_are_in_no_message(
    fault: str | None, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    seen: list[str] = []
    with FakeServer(*([fault] if fault else []), key=None if fault == "wrong_key" else KEY) as server:
        model = at(server, "clef", retries=1)
        try:
            seen.append(repr(ask(model, question())))
        except ModelError as error:
            seen.append(f"{error!r} {error.__cause__!r} {error.__context__!r}")
        assert ACCOUNT in server.counters.last_path
        assert server.counters.last_headers["Authorization"] == f"Bearer {KEY}"
    seen += [repr(model), repr(model.describe()), json.dumps(model.describe()), model.url, repr(vars(model))]
    out = capfd.readouterr()
    everything = "".join([*seen, caplog.text, out.out, out.err])
    assert KEY not in everything
    assert ACCOUNT not in everything
    assert "CLOUDFLARE_ACCOUNT_ID" in repr(model.describe())
    assert "/accounts/{account}/ai/run/" in model.describe()["url"]


def test_a_server_that_is_down_is_named_without_the_account() -> None:
    with FakeServer() as server:
        model = at(server, "clef")
    with pytest.raises(HostError) as caught:
        ask(model, question())
    assert "nothing answers at http://127.0.0.1:" in str(caught.value)
    assert ACCOUNT not in str(caught.value)
