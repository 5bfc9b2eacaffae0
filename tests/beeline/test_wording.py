"""Wordings: texts are put where their places are, and a file that is wrong is told so in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beeline.errors import SettingError
from beeline.wording import WORDINGS, Wording, read_wording

TEXTS = ("Slide tiles.", "in order", "a move slides one tile")


def test_there_are_four_wordings_or_more_all_different() -> None:
    assert len(WORDINGS) >= 4
    asked = {wording.texts("tiles", *TEXTS)[3] for wording in WORDINGS.values()}
    assert len(asked) == len(WORDINGS)
    for name, wording in WORDINGS.items():
        assert wording.name == name
        for text in wording.texts("tiles", *TEXTS):
            assert text == text.strip() != ""
            assert "{" not in text


def test_the_plain_wording_adds_nothing() -> None:
    assert WORDINGS["plain"].texts("tiles", *TEXTS)[:3] == TEXTS


@pytest.mark.parametrize("name", sorted(WORDINGS))
def test_every_wording_says_what_the_domain_says(name: str) -> None:
    for said, text in zip(WORDINGS[name].texts("tiles", *TEXTS)[:3], TEXTS, strict=True):
        assert text in said


def test_places_stand_for_what_the_domain_says() -> None:
    wording = Wording("mine", "{goal}? {goal}! {{goal}} {Goal} {x} {", task="{context}/{task}", goal="none")
    task, goal, context, instructions = wording.texts("tiles", *TEXTS)
    assert task == "a move slides one tile/Slide tiles."
    assert goal == "none"
    assert context == TEXTS[2]
    assert instructions == "in order? in order! {in order} {Goal} {x} {"


@given(st.lists(st.sampled_from(["{task}", "{goal}", "{context}", "{", "}", "task", "a"]), max_size=8))
def test_a_text_that_looks_like_a_place_is_left_alone(parts: list[str]) -> None:
    text = "".join(parts)
    wording = Wording("mine", "{task}|{goal}|{context}")
    assert wording.texts("tiles", text, text, text) == (text, text, text, f"{text}|{text}|{text}")


def test_a_domain_can_have_its_own() -> None:
    wording = Wording(
        "mine", "Which?", domains=(("tiles", (("goal", "tidy: {goal}"), ("instructions", "Which tile?"))),)
    )
    assert wording.texts("tiles", *TEXTS) == (TEXTS[0], "tidy: in order", TEXTS[2], "Which tile?")
    assert wording.texts("countdown", *TEXTS) == (*TEXTS, "Which?")
    assert hash(wording) == hash(wording)


def written(tmp_path: Path, text: str, name: str = "mine.yaml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        name: theirs
        instructions: Which is nearest to {goal}?
        task: {tiles: Slide., default: "So: {task}"}
        goal: {tiles: tidy}
        """,
    )
    wording = read_wording(path)
    assert wording.name == "theirs"
    assert wording.texts("tiles", *TEXTS) == ("Slide.", "tidy", TEXTS[2], "Which is nearest to in order?")
    assert wording.texts("countdown", "count", "64", "plus") == (
        "So: count",
        "64",
        "plus",
        "Which is nearest to 64?",
    )
    assert hash(wording) == hash(read_wording(path))


def test_a_file_is_named_after_itself_and_may_hold_anything(tmp_path: Path) -> None:
    text = 'instructions: "Wähle ${goal} {goal}: 100% {{sicher}}?"\n'
    wording = read_wording(written(tmp_path, text, "words-2.yaml"))
    assert wording.name == "words-2"
    assert wording.texts("tiles", *TEXTS)[3] == "Wähle $in order in order: 100% {{sicher}}?"
    assert wording.texts("tiles", *TEXTS)[:3] == TEXTS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "instructions is missing: the question that every domain is asked"),
        ("just words", "must be a mapping with the keys name, instructions, task, goal, context"),
        ("[a, b]", "must be a mapping with the keys"),
        ("name: x\ninstructions: {tiles: Which?}", ", line 2: expected ',' or '}', but got"),
        ("instructions: [", "cannot read the wording"),
        ("instructions: a\n  b: c: d", "cannot read the wording"),
        ("a: 1\na: 2", "cannot read the wording"),
        ("name: mine", "instructions is missing: the question that every domain is asked"),
        (
            "instructions: {tiles: 'Which?'}",
            "instructions is missing: the question that every domain is asked",
        ),
        ("instruction: Which?", "there is no text 'instruction' in a wording: did you mean instructions?"),
        ("instructions: Which?\n7: x", "there is no text 7 in a wording"),
        ("instructions: 7", "instructions must be a text, or one a domain, not 7"),
        ("instructions: ''", "instructions must be a text, or one a domain, not ''"),
        ("instructions: Which?\ngoal: {tiles: ' '}", "goal must be a text, or one a domain, not ' '"),
        ("instructions: Which?\ngoal: [a]", "goal must be a text, or one a domain, not ['a']"),
        (
            "instructions: Which?\ngoal: {tiles: {a: b}}",
            "goal must be a text, or one a domain, not {'a': 'b'}",
        ),
        (
            "instructions: Which?\nname: plain",
            "name='plain' must be up to 40 letters a to z, digits and '-', and none of",
        ),
        ("instructions: Which?\nname: benchmark", "name='benchmark' must be up to 40"),
        ("instructions: Which?\nname: my words", "name='my words' must be up to 40"),
        ("instructions: Which?\nname: 7", "name=7 must be up to 40"),
        ("instructions: Which?\nname: ../x", "name='../x' must be up to 40"),
        ("instructions: Which?\nname:", "name=None must be up to 40"),
        (f"instructions: Which?\nname: {'x' * 41}", "must be up to 40"),
    ],
)
def test_a_wrong_file_is_told_so_in_a_sentence(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(SettingError) as error:
        read_wording(path)
    assert said in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(
        SettingError, match=r"^cannot read the wording .*nowhere\.yaml: No such file or directory$"
    ):
        read_wording(tmp_path / "nowhere.yaml")
    with pytest.raises(SettingError, match=r"^cannot read the wording"):
        read_wording(tmp_path)
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"instructions: W\xe4hle?\n")
    with pytest.raises(SettingError, match=r"^cannot read the wording .*latin\.yaml"):
        read_wording(path)


def test_the_name_of_a_file_must_do_for_a_condition(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"name='my words' must be"):
        read_wording(written(tmp_path, "instructions: Which?", "my words.yaml"))
