"""The scripts under docker/, with programs in the engine's place that say what they were told."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from tests.shared import ROOT

IDENTITY = "sha256:" + "ab" * 32
ENGINE = f"""\
#!/bin/sh
case "$1 $2" in
"image inspect")
    [ -z "$NO_IMAGE" ] || exit 1
    case $4 in *Size*) echo {IDENTITY} 1234567890 ;; *) echo {IDENTITY} ;; esac
    exit
    ;;
esac
printf '%s\\n' "$@"
for word in "$@"; do
    case $word in
    id=*,src=*) echo "content of ${{word%%,*}}:"; cat "${{word#*src=}}"; echo "$word" >>"$SEEN" ;;
    esac
done
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder of programs that print their arguments, a line each."""
    folder = tmp_path / "bin"
    folder.mkdir()
    bodies = dict.fromkeys(
        ("python", "mlflow", "ray"),
        '#!/bin/sh\nprintf "%s\\n" "${0##*/}" "$@"\nenv | grep -E "^BEELINE_(LOCK|IMAGE)"\n',
    )
    bodies["sha256sum"] = "#!/bin/sh\necho feed  $1\n"
    bodies["engine"] = ENGINE
    bodies["compose"] = '#!/bin/sh\necho "$@" "image=$BEELINE_IMAGE" "user=$BEELINE_USER"\n'
    for name, body in bodies.items():
        (folder / name).write_text(body)
        (folder / name).chmod(0o755)
    return folder


def shell(
    programs: Path, script: str, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith("BEELINE_")
        and k not in ("MLFLOW_TRACKING_URI", "TAG", "TARGET", "BASE", "NETWORK")
    }
    return subprocess.run(
        ["sh", str(ROOT / "docker" / script), *arguments],
        env=kept
        | {"PATH": path, "CONTAINER": "engine", "COMPOSE": "compose", "NO_IMAGE": "", "SEEN": os.devnull}
        | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


# --- entry point -------------------------------------------------------------------------------

RUN = ["python", "-m", "beeline"]


@pytest.mark.parametrize(
    ("arguments", "executed"),
    [
        ([], RUN),
        (["--help"], [*RUN, "--help"]),
        (["domain=countdown", "model.name=a b"], [*RUN, "domain=countdown", "model.name=a b"]),
        (["-m", "domain=tiles,countdown"], [*RUN, "-m", "domain=tiles,countdown"]),
        (["tracking.report", "--help"], ["python", "-m", "tracking.report", "--help"]),
        (["domains.download"], ["python", "-m", "domains.download"]),
        (["mlflow", "server"], ["mlflow", "server"]),
        (["ray", "start", "--head"], ["ray", "start", "--head"]),
    ],
)
def test_entry_point_runs(programs: Path, arguments: list[str], executed: list[str]) -> None:
    done = shell(programs, "entrypoint.sh", *arguments)
    assert done.stdout.splitlines() == [*executed, "BEELINE_LOCK=sha256:feed"]


@pytest.mark.parametrize(("given", "left"), [("sha256:ab", ["BEELINE_IMAGE=sha256:ab"]), ("unknown", [])])
def test_entry_point_hands_on_an_image_that_is_known(programs: Path, given: str, left: list[str]) -> None:
    done = shell(programs, "entrypoint.sh", "python", BEELINE_IMAGE=given)
    assert [line for line in done.stdout.splitlines() if line.startswith("BEELINE_IMAGE")] == left


@pytest.mark.parametrize(
    ("arguments", "tracked"),
    [
        (["domain=countdown"], True),
        (["-m", "domain=tiles,countdown"], True),
        (["domain=countdown", "tracking=none"], False),
        (["domain=countdown", "tracking.uri=sqlite:///x"], False),
        (["--help"], False),
        ([], False),
        (["tracking.report"], False),
    ],
)
def test_entry_point_tracks_on_the_server_beside_it(
    programs: Path, arguments: list[str], tracked: bool
) -> None:
    done = shell(programs, "entrypoint.sh", *arguments, MLFLOW_TRACKING_URI="http://mlflow:5000")
    assert ("tracking.uri=http://mlflow:5000" in done.stdout.splitlines()) == tracked


@pytest.mark.parametrize(
    ("arguments", "executed"),
    [
        (["a=1", "b=x y", "-m"], ["tracking.uri=U", "a=1", "b=x y", "-m"]),
        (["-m", "a=1", "b=2"], ["-m", "tracking.uri=U", "a=1", "b=2"]),
        (["--cfg", "job"], ["--cfg", "job", "tracking.uri=U"]),
    ],
)
def test_entry_point_keeps_settings_in_one_piece(
    programs: Path, arguments: list[str], executed: list[str]
) -> None:
    done = shell(programs, "entrypoint.sh", *arguments, MLFLOW_TRACKING_URI="U")
    assert done.stdout.splitlines()[:-1] == [*RUN, *executed]


# --- run ---------------------------------------------------------------------------------------


def test_run_gives_the_container_no_more_than_it_needs(programs: Path, tmp_path: Path) -> None:
    results, secrets = tmp_path / "results", tmp_path / "keys"
    secrets.mkdir()
    (secrets / "OPENROUTER_API_KEY").write_text("sk-planted")
    done = shell(
        programs,
        "run.sh",
        "domain=countdown",
        "trials=2",
        RESULTS=str(results),
        SECRETS=str(secrets),
        NETWORK="none",
    )
    words = done.stdout.splitlines()
    assert words[0] == "run"
    assert words[-3:] == ["beeline", "domain=countdown", "trials=2"]
    assert {"--rm", "--read-only", "--init"} <= set(words)
    pairs = set(pairwise(words))
    assert {("--cap-drop", "ALL"), ("--security-opt", "no-new-privileges"), ("--network", "none")} <= pairs
    assert ("--user", f"{os.getuid()}:{os.getgid()}") in pairs
    assert ("--env", f"BEELINE_IMAGE={IDENTITY}") in pairs
    volumes = {after for before, after in pairs if before == "--volume"}
    # At the same place as outside: MLflow writes absolute paths.
    assert volumes == {
        f"{results}:{ROOT}/results",
        f"{secrets}:/run/secrets:ro",
        "beeline-data:/beeline/data",
        "beeline-cache:/beeline/cache",
    }
    assert ("--workdir", str(ROOT)) in pairs
    assert "sk-planted" not in done.stdout
    assert not {"--privileged", "--publish", "-p"} & set(words)


def test_run_shows_a_mirror_of_data_for_reading_alone(programs: Path, tmp_path: Path) -> None:
    done = shell(programs, "run.sh", RESULTS=str(tmp_path / "r"), BEELINE_DATA_MIRROR=str(tmp_path))
    words = done.stdout.splitlines()
    assert f"{tmp_path}:/beeline/mirror:ro" in words
    assert "BEELINE_DATA_MIRROR=/beeline/mirror" in words


def test_run_without_secrets_mounts_none(programs: Path, tmp_path: Path) -> None:
    done = shell(programs, "run.sh", RESULTS=str(tmp_path / "r"), SECRETS=str(tmp_path / "absent"))
    assert "/run/secrets" not in done.stdout
    assert not (tmp_path / "absent").exists()


@pytest.mark.parametrize("script", ["run.sh", "cluster.sh"])
def test_without_an_image_the_next_step_is_said(programs: Path, tmp_path: Path, script: str) -> None:
    done = shell(programs, script, "up", NO_IMAGE="1", RESULTS=str(tmp_path / "r"))
    assert done.returncode == 1
    assert "there is no image beeline: make docker-build" in done.stderr
    assert not (tmp_path / "r").exists()


# --- build -------------------------------------------------------------------------------------


def test_build_shows_the_index_as_a_secret_alone(programs: Path, tmp_path: Path) -> None:
    authority, seen = tmp_path / "authority.pem", tmp_path / "seen"
    authority.write_text("-----BEGIN CERTIFICATE-----\n")
    done = shell(
        programs,
        "build.sh",
        TARGET="clef",
        BASE="example/base@sha256:12",
        PIP_INDEX_URL="https://user:planted@index.invalid/simple",
        PIP_CERT=str(authority),
        SEEN=str(seen),
    )
    assert done.returncode == 0, done.stderr
    told, *contents = done.stdout.split("content of ")
    words = told.splitlines()
    pairs = set(pairwise(words))
    assert {("--target", "clef"), ("--tag", "clef"), ("--build-arg", "BASE=example/base@sha256:12")} <= pairs
    assert any(re.fullmatch(r"REVISION=[0-9a-f]{12}(-dirty)?|REVISION=unknown", word) for word in words)
    assert "index.invalid" not in told
    settings, certificate = contents
    assert settings.startswith("id=pip:\n[global]\n")
    assert "index-url = https://user:planted@index.invalid/simple\n" in settings
    assert len(re.findall(r"^index-url =", settings, re.MULTILINE)) == 1
    assert certificate.startswith("id=ca:\n-----BEGIN CERTIFICATE-----\n")
    assert done.stdout.splitlines()[-1].startswith(f"build: clef is {IDENTITY}, 1234 MB, built in ")
    shown = [Path(line.split("src=")[1]) for line in seen.read_text().splitlines()]
    assert len(shown) == 2
    assert not any(path.exists() for path in shown), "gone when the build is over"


# --- cluster -----------------------------------------------------------------------------------


def cluster(programs: Path, tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return shell(
        programs,
        "cluster.sh",
        *arguments,
        BEELINE_RESULTS=str(tmp_path / "results"),
        BEELINE_SECRETS=str(tmp_path / "secrets"),
    )


def test_cluster_makes_rays_token_once_for_its_owner_alone(programs: Path, tmp_path: Path) -> None:
    done = cluster(programs, tmp_path, "up")
    assert done.returncode == 0, done.stderr
    folder, token = tmp_path / "secrets", tmp_path / "secrets" / "ray_token"
    made = token.read_text()
    assert re.fullmatch("[0-9a-f]{64}", made)
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert made not in done.stdout + done.stderr
    assert "up -d mlflow ray-head ray-worker" in done.stdout
    assert f"image={IDENTITY} user={os.getuid()}:{os.getgid()}" in done.stdout
    cluster(programs, tmp_path, "up")
    assert token.read_text() == made


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "domain=countdown", "trials=2"], "exec ray-head beeline domain=countdown trials=2"),
        (["alone", "domain=tiles"], "run --rm runner domain=tiles"),
        (["down"], "down"),
        (["down", "--volumes"], "down --volumes"),
        (["logs", "mlflow"], "logs mlflow"),
    ],
)
def test_cluster_tells_compose(programs: Path, tmp_path: Path, arguments: list[str], told: str) -> None:
    done = cluster(programs, tmp_path, *arguments)
    assert done.stdout.startswith(f"-p beeline -f {ROOT}/docker/compose.yaml {told} image=")
    assert not (tmp_path / "secrets").exists()
