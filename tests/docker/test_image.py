"""The Dockerfile and what may get into its context, read as text: no engine is asked."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

import pytest
from packaging.specifiers import SpecifierSet

from tests.shared import ROOT

FILE = ROOT / "docker" / "Dockerfile"
IMAGES = ("beeline", "clef")
SECRET = re.compile(r"key|token|secret|password|credential|index_url|pip_conf", re.IGNORECASE)


@dataclass
class Stage:
    name: str
    base: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def of(self, instruction: str) -> list[str]:
        return [text for name, text in self.steps if name == instruction]


def parsed() -> tuple[dict[str, str], dict[str, Stage]]:
    """The arguments before the first stage, and the stages by name."""
    lines = [line for line in FILE.read_text().splitlines() if not line.lstrip().startswith("#")]
    arguments: dict[str, str] = {}
    stages: dict[str, Stage] = {}
    stage: Stage | None = None
    for line in re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines():
        if not line.strip():
            continue
        name, _, text = line.strip().partition(" ")
        if name == "FROM":
            base, _, named = text.partition(" AS ")
            stage = stages[named] = Stage(named, base)
        elif stage is None:
            assert name == "ARG"
            key, _, value = text.partition("=")
            arguments[key] = value
        else:
            stage.steps.append((name, text))
    return arguments, stages


ARGUMENTS, STAGES = parsed()


def chain(name: str) -> list[Stage]:
    """A stage and those it stands on, the lowest first."""
    stage = STAGES[name]
    return [*(chain(stage.base) if stage.base in STAGES else []), stage]


def test_stages_stand_on_the_one_base_or_on_each_other() -> None:
    assert set(ARGUMENTS) == {"BASE"}
    assert {stage.base for stage in STAGES.values()} - set(STAGES) == {"${BASE}"}
    for stage in STAGES.values():
        for copied in stage.of("COPY"):
            if (source := re.match(r"--from=(\S+)", copied)) is not None:
                assert source[1] in STAGES


def test_base_has_a_python_that_the_project_supports() -> None:
    tag = re.fullmatch(
        r"docker\.io/library/python:(3\.\d+)-slim-[a-z]+(@sha256:[0-9a-f]{64})?", ARGUMENTS["BASE"]
    )
    assert tag is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"{tag[1]}.0" in SpecifierSet(project["requires-python"])


@pytest.mark.parametrize("image", IMAGES)
def test_image_is_nobodys_root_and_starts_our_entry_point(image: str) -> None:
    steps = [step for stage in chain(image) for step in stage.steps]
    user = [text for name, text in steps if name == "USER"][-1]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user), "a number, so that Kubernetes can check it"
    assert [json.loads(text) for name, text in steps if name == "ENTRYPOINT"] == [["beeline"]]
    assert "ln -s /opt/code/entrypoint.sh /usr/local/bin/beeline" in STAGES["runtime"].of("RUN")[0]


@pytest.mark.parametrize("image", IMAGES)
def test_image_takes_files_from_stages_alone(image: str) -> None:
    """What builds (pip, compilers, sources, the context) stays in the stages before."""
    copied = [text for stage in chain(image) for text in stage.of("COPY")]
    assert copied
    assert all(re.match(r"--from=(packages|packages-clef|code) /opt/", text) for text in copied)
    assert not any("pip" in text for stage in chain(image) for text in stage.of("RUN"))


def test_no_setting_of_the_image_is_a_secret() -> None:
    for stage in STAGES.values():
        for text in (*stage.of("ENV"), *stage.of("ARG"), *stage.of("LABEL")):
            assert not SECRET.search(text), f"{stage.name}: {text}"
    assert not any(stage.of("ADD") for stage in STAGES.values())


def test_packages_come_with_hashes_or_from_what_was_checked() -> None:
    commands = [
        command
        for stage in STAGES.values()
        for run in stage.of("RUN")
        for command in run.split(";")
        if re.search(r"\bpip\b.* (install|wheel) ", command)
    ]
    assert len(commands) == 5
    for command in commands:
        assert ("--require-hashes" in command) != ("--no-index" in command), command
        named = re.findall(r"-r (\S+)", command)
        assert bool(named) == ("--require-hashes" in command)
    # Only a step that can see both secrets asks an index.
    for stage in STAGES.values():
        for run in stage.of("RUN"):
            if "--require-hashes" in run:
                assert run.startswith("--mount=type=secret,id=pip --mount=type=secret,id=ca ")


def test_the_lock_is_kept_and_its_source_archives_are_named() -> None:
    (run,) = STAGES["packages"].of("RUN")
    assert "cp requirements/lock.txt /opt/beeline/lock.txt" in run
    source = re.search(r"--only-binary :all: --no-binary (\S+)", run)
    assert source is not None
    lock = (ROOT / "requirements" / "lock.txt").read_text()
    for name in source[1].split(","):
        assert re.search(rf"^{name}==", lock, re.MULTILINE)


# --- what the build may see --------------------------------------------------------------------


def visible(path: str) -> bool:
    """As a builder reads .dockerignore: the last pattern that matches the path or a folder above it
    decides."""
    seen = True
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.strip()
        if not pattern or pattern.startswith("#"):
            continue
        kept = pattern.startswith("!")
        pattern = pattern.removeprefix("!")
        above = [str(p) for p in (PurePosixPath(path), *PurePosixPath(path).parents)][:-1]
        if any(_matches(part, pattern) for part in above):
            seen = kept
    return seen


def _matches(path: str, pattern: str) -> bool:
    if pattern.startswith("**/"):
        parts = path.split("/")
        return any(_matches("/".join(parts[start:]), pattern[3:]) for start in range(len(parts)))
    return path.count("/") == pattern.count("/") and fnmatchcase(path, pattern)


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "beeline/.env",
        "conf/model/.env",
        "secrets/OPENROUTER_API_KEY",
        ".git/config",
        ".venv/bin/python",
        "results/1.0.0/jev/score/tiles.benchmark.jsonl",
        "mlflow.db",
        "sgb-words.txt",
        "domains/navigation/sgb-words.txt",
        "domains/wikispeedia_paths-and-graph/links.tsv",
        "beeline/__pycache__/run.cpython-311.pyc",
        "tests/shared.py",
        "docker/compose.yaml",
    ],
)
def test_context_holds_no(path: str) -> None:
    assert not visible(path)


def test_context_holds_what_the_build_copies() -> None:
    copied = [
        text.split()[:-1]
        for stage in STAGES.values()
        for text in stage.of("COPY")
        if not text.startswith("--from")
    ]
    files = {name for names in copied for name in names} - {".", "requirements/clef.txt"}
    assert files == {"requirements/build.txt", "requirements/lock.txt"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    named = [project["project"]["readme"], *project["project"]["license-files"], "pyproject.toml"]
    for name in [*files, *wheel, *named, "beeline/run.py", "conf/config.yaml", "docker/entrypoint.sh"]:
        assert (ROOT / name).exists()
        assert visible(name), name
