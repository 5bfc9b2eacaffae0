"""Public reports about decision models and their hosts, a test each: what went wrong for others is
asked of our clients, over real HTTP. Each docstring names its report."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from beeline.averaging import Averaging
from beeline.errors import HostError, ModelError
from beeline.model import Model
from beeline.model_arm import ModelArmResult, UsabilityGuard, model_arm, option_weights
from beeline.question import Answer, Question
from beeline.search import Limits
from beeline.services import Estimate, Services
from beeline.space import explore
from beeline.statistics.position import Positions, positions
from beeline.wording import Wording
from protocols.chat_completions import ChatCompletions
from protocols.fake import FakeServer
from protocols.systemone import SystemOne
from studies.probe import facts_of, probe
from tests.faults.test_model_faults import Letters
from tests.protocols.asking import ask, question, system_one

LIMITS = Limits(max_expansions=40, max_frontier=30)
#: The start, and the first question.
FIRST = Limits(max_expansions=2, max_frontier=30)
#: Fifty starts of the same little problem.
STARTS = ["".join(p) for p in itertools.islice(itertools.permutations("ABCDE"), 7, 119, 2)][:50]


def search(model: Model, start: str = "EDCBA", problem: type[Letters] = Letters) -> ModelArmResult:
    """One whole search."""
    return searches(model, [start], problem=problem)[0]


def searches(
    model: Model,
    starts: Sequence[str],
    order: str = "benchmark",
    limits: Limits = LIMITS,
    problem: type[Letters] = Letters,
) -> list[ModelArmResult]:
    """One after the other, each a trial of its own."""

    async def run() -> list[ModelArmResult]:
        await model.open()
        guard = UsabilityGuard()
        try:
            return [await one(number, start, guard) for number, start in enumerate(starts, 1)]
        finally:
            await model.close()

    async def one(trial: int, start: str, guard: UsabilityGuard) -> ModelArmResult:
        wording = Wording("plain", "Which?")
        arm = model_arm(
            explore(problem(start)), "letters", "Sort.", trial, "m", limits, wording, guard, order=order
        )
        try:
            asked = next(arm)
            while True:
                asked = arm.send(await model.answer(asked))
        except StopIteration as stop:
            result: ModelArmResult = stop.value
            return result

    return asyncio.run(run())


def steps(result: ModelArmResult) -> list[dict[str, Any]]:
    """The trace's steps that asked."""
    assert result.trace is not None
    return [step for step in map(json.loads, result.trace.lines) if not step["forced"]]


def places(results: Sequence[ModelArmResult], least: int = 2, most: int = 255) -> Positions:
    """Where the chosen options stood, of the questions with so many options."""
    asked = [s for r in results for s in steps(r) if least <= s["frontier"] <= most and not s["fallback"]]
    assert len(asked) > 50
    found = positions([s["order"].index(s["chosen"]) for s in asked], [s["frontier"] for s in asked], ("t",))
    assert found is not None
    return found


def flips(server: FakeServer) -> float:
    """Share of first questions whose pick changes when the options are turned round."""
    model = system_one(server.base_url)
    one, other = (searches(model, STARTS, order, FIRST) for order in ("found", "newest-first"))
    changed = [steps(a)[0]["state"] != steps(b)[0]["state"] for a, b in zip(one, other, strict=True)]
    assert all(steps(a)[0]["frontier"] == 4 for a in one)
    return sum(changed) / len(changed)


def answered(*faults: str, options: Sequence[str] = (), **settings: Any) -> Answer:
    with FakeServer(*faults) as server:
        [answer] = ask(system_one(server.base_url, **settings), question(*options))
        return answer


def stopped(*faults: str, options: Sequence[str] = (), **settings: Any) -> tuple[str, int]:
    """Why asking ended, and how many requests were made."""
    with FakeServer(*faults) as server:
        with pytest.raises(ModelError) as caught:
            ask(system_one(server.base_url, **settings), question(*options))
        return str(caught.value), server.requests


def sums(*faults: str) -> tuple[ModelArmResult, set[float]]:
    with FakeServer(*faults) as server:
        result = search(system_one(server.base_url))
    return result, {round(step["sum"], 2) for step in steps(result)}


@pytest.fixture(scope="module")
def calm() -> ModelArmResult:
    return sums()[0]


def test_report_01_rounded_sums_are_accepted() -> None:
    """Effect-TS/effect#8379: two-decimal probabilities summing to 0.99 were rejected."""
    for number in range(200):
        options = [f"option {number}-{i}" for i in range(5)]
        answer = answered("round2", options=options)
        weights, problem = option_weights(answer, tuple(options))
        assert problem is None
        if round(sum(weights), 2) == 0.99:
            break
    else:
        pytest.fail("no sum was 0.99")
    assert max(weights) > 0.2


def test_report_02_wide_sums_are_accepted_and_recorded(calm: ModelArmResult) -> None:
    """jaredpalmer/kev#33: sums from 0.96 to 1.18 over many options."""
    for fault, expected in (("sum_low", 0.96), ("sum_high", 1.18)):
        result, seen = sums(fault)
        assert result.search == calm.search
        assert seen == {expected}
        assert result.usage.invalid_answers == 0


def test_report_03_a_choice_that_is_not_the_largest_is_counted_not_followed(calm: ModelArmResult) -> None:
    """jkudish/jev-mcp#10: ``choice`` differs from the largest probability."""
    result, _ = sums("disagree")
    assert result.search == calm.search
    assert result.usage.disagreements == result.usage.requests > 0
    assert all(step["disagrees"] for step in steps(result))


def test_report_04_an_all_zero_map_is_asked_again_then_declared(calm: ModelArmResult) -> None:
    """bastani-inc/atomic#3118: zero-mass distributions."""
    once, _ = sums("all_zero@1")
    assert once.search == calm.search
    assert (once.usage.invalid_answers, once.usage.fallbacks) == (1, 0)
    assert once.usage.outcomes["reasked_after_invalid"] == 1
    twice, _ = sums("all_zero@2")
    assert (twice.usage.invalid_answers, twice.usage.fallbacks) == (2, 1)
    first = steps(twice)[0]
    assert (first["fallback"], first["chosen"]) == (True, first["order"][0])
    assert [reply["problem"] for reply in first["replies"]] == ["all zero", "all zero"]


def test_report_05_picks_that_flip_when_options_swap_are_seen() -> None:
    """mizorewww/laya-mlx#5: 27-33 % of picks flip when options swap."""
    with FakeServer() as fair, FakeServer("order_dependent") as biased:
        assert flips(fair) == 0.0
        assert flips(biased) > 0.1


def test_report_06_order_effects_are_seen_at_each_length() -> None:
    """NandhaKishorM/laya#171: order flips, and long option blocks behave differently."""
    with FakeServer("order_dependent") as server:
        biased = searches(system_one(server.base_url), STARTS[:30])
    with FakeServer() as server:
        fair = searches(system_one(server.base_url), STARTS[:30])
    for least, most in ((2, 10), (11, 30)):
        seen, expected = places(biased, least, most), places(fair, least, most)
        assert seen.relative_place.high < 0.5
        assert expected.relative_place.low < 0.5 < expected.relative_place.high


def test_report_07_a_slot_that_is_never_picked_shows() -> None:
    """NandhaKishorM/laya#131: a model never picks the first slot."""
    with FakeServer("never_first") as server:
        found = places(searches(system_one(server.base_url), STARTS[:20]))
    assert found.places[0].share.value == 0.0
    assert found.places[0].expected > 0.05
    assert found.first.high < 0
    assert found.histogram[0] < min(found.histogram[1:])


def test_report_08_one_option_is_never_sent(calm: ModelArmResult) -> None:
    """NandhaKishorM/laya#96: a choice with one option crashes a server."""
    result, _ = sums("crash_one_option")
    assert result.search == calm.search
    assert result.usage.retries == 0
    reason, requests = stopped("crash_one_option", options=["only"])
    assert requests == 0
    assert "takes 2 to 255 options" in reason

    class Chain(Letters):
        """Two moves with one way on."""

        def successors(self, state: str) -> Sequence[str]:
            only = {"EDCBA": "DECBA", "DECBA": "DCEBA"}.get(state)
            return [only] if only else super().successors(state)

    with FakeServer("crash_one_option") as server:
        result = search(system_one(server.base_url), problem=Chain)
        assert set(server.statuses) == {200}
    assert result.trace is not None
    taken = [json.loads(line)["forced"] for line in result.trace.lines]
    assert taken[:2] == [True, True]
    assert taken.count(False) == result.usage.requests > 0


def test_report_09_a_correction_that_brings_order_dependence_back_shows() -> None:
    """bnsd55/jevmlx#105: judged on the answers as they are used, after whatever correction."""
    with FakeServer() as server:
        model = system_one(server.base_url)
        corrected = places(searches(model, STARTS[:20]))
        server.set_faults("order_dependent")
        undone = places(searches(model, STARTS[:20]))
    assert corrected.p_value > 0.05 > undone.p_value
    assert undone.first.low > 0


def test_report_10_the_same_options_reversed() -> None:
    """TypeLLM/pijev: 0.43 becomes 0.63. Both orders can be asked for by name, the trace keeps the
    numbers with the places, and ``model.orders=2`` averages over an order and its reverse."""
    moved = []
    with FakeServer("order_dependent") as server:
        model = system_one(server.base_url)
        one, other = (searches(model, STARTS, order, FIRST) for order in ("found", "newest-first"))
    for a, b in zip(one, other, strict=True):
        first, second = steps(a)[0], steps(b)[0]
        assert first["order"] == second["order"][::-1] == [0, 1, 2, 3]
        there = {index: weight for index, weight, _ in first["top"]}
        back = {index: weight for index, weight, _ in second["top"]}
        assert set(there) == set(back) == {0, 1, 2, 3}
        moved.append(max(abs(there[i] - back[i]) for i in there))
    assert max(moved) > 0.2
    asked = question()
    with FakeServer("order_dependent") as server:
        model = Averaging(system_one(server.base_url), 2)
        given, reverse = ask(model, asked, replace(asked, options=asked.options[::-1]))
        assert server.requests == 4
    assert isinstance(given.probabilities, Mapping)
    assert given.probabilities == pytest.approx(reverse.probabilities)  # the order shown is of no account


def test_report_11_aliases_dated_names_and_criteria() -> None:
    """browser-use/jev-ultrafast#29, #18: a tilde gives 400, names are dated, structured criteria refused."""
    with FakeServer() as server:
        host = f"{server.origin}/api/v1"
        with pytest.raises(HostError, match=r"400 Bad Request: Model ~typesafe/jev-9 does not exist"):
            ask(system_one(host, id="~typesafe/jev-9"), question())
        assert server.requests == 1
        dated = "typesafe/jev-1.13-20260917"
        with pytest.raises(ModelError, match=f"typesafe/jev-1.13, but {dated} answered"):
            ask(system_one(host, id="typesafe/jev-1.13"), question())
        [answer] = ask(system_one(host, id="typesafe/jev-1.13", served_names=(dated,)), question())
        assert answer.served_model == dated
    assert option_weights(answered("strings_only"), question().options)[1] is None


def test_report_12_refusals_small_models_credit_and_slashes() -> None:
    """kyle-pena-nlp/beelinebench model quirks: each has a rule of its own."""
    refusing, _ = sums("refusal_order")
    usage = refusing.usage
    assert usage.refusals > 0
    assert usage.outcomes["reasked_after_refusal"] > 0
    assert usage.requests == sum(usage.outcomes.values()) + usage.refusals - usage.fallbacks
    reason, requests = stopped("cap=26", options=[f"option {i}" for i in range(27)])
    assert (requests, "at most 26 options" in reason) == (1, True)
    reason, requests = stopped("credit")
    assert (requests, "insufficient_quota" in reason) == (1, True)
    slashes = ("1/2", "3/4")
    reason, requests = stopped("no_slash", options=slashes)
    assert (requests, "Invalid option name" in reason) == (1, True)
    answer = answered("no_slash", options=slashes, replace={"/": "\u2215"})
    assert set(answer.probabilities) == set(slashes)


def test_report_13_a_refusal_that_arrives_as_an_error_is_a_refusal(calm: ModelArmResult) -> None:
    """etsabary/luna-decisions-benchmark: 17 of 1,000 refusals arrive as API errors."""
    result, _ = sums("refusal_error@1")
    assert (result.usage.refusals, result.usage.retries, result.usage.fallbacks) == (1, 0, 0)
    assert result.usage.requests == sum(result.usage.outcomes.values()) + 1
    with FakeServer("refusal") as server:  # as OpenRouter passes on what Luna declines
        [answer] = ask(system_one(f"{server.origin}/api/v1"), question())
        assert (server.statuses[400], server.requests) == (1, 1)
    assert answer.refused


def test_report_14_truncation_moving_limits_and_drift(calm: ModelArmResult) -> None:
    """juspay/neurolink on Clef: silent truncation, limits that move, 429 without a hint, 529, drift."""
    cut, _ = sums("truncate=20")
    assert cut.usage.short_usage == cut.usage.requests
    assert calm.usage.short_usage == 0
    with FakeServer("context_moves=5,60") as server:
        with pytest.raises(HostError, match="400 Bad Request: max_tokens_exceeded"):
            search(system_one(server.base_url))
        assert server.requests == 5
    passing, _ = sums("rate_limit@2", "overloaded@3-4")
    assert passing.search == calm.search
    assert passing.usage.retries == 4
    # Drift under an unchanged name shows as repeats that differ, and only then.
    with FakeServer("drift=30") as server:
        model = system_one(server.base_url)
        question_now, later = question(), [question()] * 40
        answers = ask(model, question_now, *later)
    shown = [tuple(answer.probabilities.values()) for answer in answers]
    assert len(set(shown[:30])) == 1
    assert len(set(shown)) == 2


def test_report_15_pages_error_shapes_jitter_and_zero_tokens(calm: ModelArmResult) -> None:
    """juspay/neurolink on Perplexity: HTML 504, three error shapes, jitter, 0 tokens."""
    passing, _ = sums("gateway_timeout@1")
    assert passing.search == calm.search
    assert passing.usage.retries == 1
    paths = ("/v1", "/api/v1", "/client/v4/accounts/me/ai/run/@cf/cloudflare")
    with FakeServer("cap=2") as server:
        for base, path in zip(paths, ("/systemone", "/systemone", "/clef"), strict=True):
            with pytest.raises(HostError, match="A choice takes at most 2 options"):
                ask(system_one(server.origin + base, path=path, id="clef"), question())
        with pytest.raises(HostError, match="A choice takes at most 2 options"):
            ask(system_one(server.base_url, path="/decisions"), question())
    with FakeServer("jitter") as server:
        repeats = ask(system_one(server.base_url), *[question()] * 20)
    maps = [dict(answer.probabilities) for answer in repeats]
    spread = [max(m[o] for m in maps) - min(m[o] for m in maps) for o in question().options]
    assert 0.005 < max(spread) < 0.025
    assert answered("zero_usage").input_tokens is None


class Noted:
    """A meter that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def begin(self, expected: Estimate) -> int:
        self.told.append("begin")
        return len(self.told)

    def settle(self, ticket: int, took: Estimate) -> None:
        self.told.append("settle")

    def reject(self, ticket: int) -> None:
        self.told.append("reject")

    def unknown(self, ticket: int) -> None:
        self.told.append("unknown")


def test_report_16_256_options_rejected_requests_and_repeats() -> None:
    """nibzard/decision-model-benchmark: 256 options refused, no usage on rejected requests, repeats
    that change."""
    many = [f"option {i}" for i in range(256)]
    reason, requests = stopped(options=many)
    assert (requests, "takes 2 to 255 options a question, not 256" in reason) == (0, True)
    assert len(answered(options=many[:255]).probabilities) == 255
    with FakeServer("unprocessable") as server:
        model, meter = system_one(server.base_url), Noted()
        model.attach(Services(meter=meter))
        with pytest.raises(HostError):
            ask(model, question())
    assert meter.told == ["begin", "reject"]  # a request, and no tokens
    with FakeServer("jitter") as server:
        again = [search(system_one(server.base_url)) for _ in range(4)]
    chosen = {tuple(step["probability"] for step in steps(result)) for result in again}
    assert len(chosen) > 1  # each repeat keeps a trace of its own, so changes can be counted


def test_report_17_inverted_statuses_camel_case_and_confidence(calm: ModelArmResult) -> None:
    """juspay/neurolink: 401 and 403 inverted, 400 without message, camelCase usage, other confidence."""
    for fault in ("wrong_key", "forbidden"):
        reason, requests = stopped(fault)
        assert requests == 1
        assert "model.key_variable" in reason
    reason, requests = stopped("too_many_tokens")
    assert (requests, "400 Bad Request: max_tokens_exceeded" in reason) == (1, True)
    plain, camel = (answered(*faults, price_input=0.042) for faults in ((), ("camel_usage",)))
    assert camel.input_tokens == plain.input_tokens
    assert camel.cost_usd == plain.cost_usd
    assert camel.cost_usd is not None
    assert camel.cost_usd > 0
    for fault in ("largest_confidence", "no_confidence"):
        assert sums(fault)[0].search == calm.search


def test_report_18_small_caps_and_names_byte_for_byte() -> None:
    """mandu5/jevcompat: caps of 26 to 127, other case or normal form, a null legend."""
    for most in (26, 50, 64, 127):
        with FakeServer(f"cap={most}") as server, pytest.raises(ModelError) as caught:
            probe(system_one(server.base_url), 255)
        assert f"set model.max_options={most}" in str(caught.value)
    for fault, options in (("lower_names", ("Ab", "Cd")), ("nfd_names", ("caf\u00e9", "na\u00efve"))):
        answer = answered(fault, options=options)
        assert option_weights(answer, options) == ([0.0, 0.0], "none of the shown options named")
    with FakeServer("null_legend") as server:
        levels = Question("T", "G", "C", "How good?", ("bad", "fair", "good"), "score")
        [scored] = ask(system_one(server.base_url), levels)
    assert sum(option_weights(scored, levels.options)[0]) == pytest.approx(1.0)


def test_report_19_an_ignored_model_name_and_extra_fields(calm: ModelArmResult) -> None:
    """NVIDIA-NeMo/labs-OO-Agents#374: the server ignores ``model``, takes 16 options, adds fields."""
    reason, requests = stopped("other_model")
    assert requests == 1
    assert "for the model test-model, but another-model-2.0 answered" in reason
    reason, requests = stopped("cap=16", options=[f"option {i}" for i in range(17)])
    assert (requests, "at most 16 options" in reason) == (1, True)
    assert sums("extra_fields")[0].search == calm.search
    unnamed = sums("no_model")[0]
    assert unnamed.search == calm.search
    assert unnamed.usage.served_models == {}


def test_report_20_uniform_and_unanimous_answers_are_told_apart() -> None:
    """SiliconLabAI/OpenJev#2: a uniform answer and a unanimous one look alike."""
    options = tuple(f"option {i}" for i in range(8))
    uniform, unanimous = (facts_of(answered(f, options=options), options) for f in ("uniform", "unanimous"))
    assert (uniform.entropy, unanimous.entropy) == (3.0, 0.0)
    assert (uniform.ties, unanimous.ties) == (8, 1)
    even, sure = sums("uniform")[0], sums("unanimous")[0]
    assert even.usage.ties == even.usage.requests
    assert even.usage.outcomes["tie"] == even.usage.requests
    assert sure.usage.ties == 0
    assert {step["probability"] for step in steps(sure)} == {1.0}


def test_report_21_a_chat_endpoint_is_a_clear_error() -> None:
    """unarbos/arbos#667: the chat endpoint answers 400 for a decision model."""
    with FakeServer() as server:
        settings = {"base_url": f"{server.origin}/api/v1", "id": "typesafe/jev-1.13"}
        for model in (
            ChatCompletions.from_settings("chat", settings | {"path": "/chat/completions"}),
            SystemOne.from_settings("jev", settings | {"path": "/chat/completions"}),
        ):
            with pytest.raises(HostError) as caught:
                ask(model, question())
            said = str(caught.value)
            assert "/api/v1/chat/completions: it answered 400" in said
            assert "This is a decision model; it has no chat endpoint" in said
            assert "Check that the server speaks the protocol" in said


def test_report_22_a_third_three_times() -> None:
    """rjdellecese/confect#717: 0.33 three times was rejected."""
    answer = answered("uniform", "round2")
    assert list(answer.probabilities.values()) == [0.33, 0.33, 0.33]
    assert option_weights(answer, question().options) == ([0.33, 0.33, 0.33], None)


def test_report_23_a_probe_states_the_limits() -> None:
    """alp82/goodwatch-monorepo#112: limits are stated nowhere near the call."""
    with FakeServer() as server:
        shown = probe(system_one(server.base_url), 255)
        assert server.requests == 1
    assert "It can run the benchmark: 255 options went out" in " ".join(shown.split())
    with FakeServer("cap=20,400") as server, pytest.raises(ModelError, match=r"set model\.max_options=20;"):
        probe(system_one(server.base_url), 255)
    with FakeServer("context=500") as server, pytest.raises(ModelError, match="max_tokens_exceeded"):
        probe(system_one(server.base_url), 255)


def test_report_24_what_cannot_fit_is_not_sent() -> None:
    """snakajima/bus20#18: more than about 220 candidates break the token limit."""
    many = [f"candidate {i} " + "x" * 60 for i in range(230)]
    reason, requests = stopped("context=2048", options=many, context_tokens=1000)
    assert requests == 0
    assert "cannot fit the 1,000 tokens" in reason
    reason, requests = stopped("context=2048", options=many)
    assert (requests, "max_tokens_exceeded" in reason) == (1, True)
    assert len(answered("context=2048", options=many[:50], context_tokens=1000).probabilities) == 50


def test_report_25_a_422_is_not_retried_and_names_the_cap() -> None:
    """getainode/ainode#278: a server capped at 20 options answers 422, and the 422 was retried."""
    with FakeServer("cap=20") as server:
        with pytest.raises(HostError, match=r"422 Unprocessable.*at most 20 options"):
            search(system_one(server.base_url), "CEABD")
        assert server.statuses[422] == 1
        assert server.statuses[200] > 0


def test_report_26_answers_that_depend_on_the_load_show() -> None:
    """vLLM: other probabilities for the same request, depending on the batch."""
    others = [question("X", "Y", f"Z{i}") for i in range(7)]

    def changed(*faults: str) -> bool:
        with FakeServer(*faults, latency_ms=20) as server:
            model = system_one(server.base_url)
            alone = ask(model, question(), question())
            crowd = ask(model, *others, question(), together=True)
            assert server.most_in_flight > 4
        assert alone[0].probabilities == alone[1].probabilities
        return crowd[-1].probabilities != alone[0].probabilities

    assert changed("batch_noise")
    assert not changed()


def test_report_27_the_state_is_free_of_hints() -> None:
    """arXiv 2609.31142: one unverified opinion in the state flips 12.1 % of decisions. So all questions of
    a search have the same state: rules and goal, and nothing of what was found or answered."""
    bodies = []

    class Listening(SystemOne):
        def request_body(self, question: Question) -> bytes:
            bodies.append(super().request_body(question))
            return bodies[-1]

    with FakeServer() as server:
        model = Listening.from_settings("listening", {"base_url": server.base_url, "id": "m"})
        result = search(model)
        assert server.last_body == bodies[-1]
        assert server.requests == len(bodies) == result.usage.requests > 5
    for body in map(json.loads, bodies):
        assert list(body) == ["model", "state", "questions"]
        assert body["state"] == {"task": "Sort.", "goal": Letters.objective, "context": Letters.context}
        assert list(body["questions"]) == ["choose"]
        asked = body["questions"]["choose"]
        assert asked["instructions"] == "Which?"
        # No option carries a description, a distance or a probability.
        assert set(asked["criteria"].values()) == {None}
        assert all(sorted(option) == list("ABCDE") for option in asked["criteria"])
