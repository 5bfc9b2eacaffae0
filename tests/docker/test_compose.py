"""docker/compose.yaml: who sees what, who listens where."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import pytest
from omegaconf import OmegaConf

from tests.shared import ROOT

FILE = ROOT / "docker" / "compose.yaml"
LASTING = {"mlflow", "ray-head", "ray-worker", "ray-gpu"}


def composed() -> dict[str, Any]:
    """The file with every variable at its default."""
    text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", FILE.read_text())
    assert "${" not in text, "every variable has a default"
    return OmegaConf.to_container(OmegaConf.create(text))  # type: ignore[return-value]


COMPOSE = composed()
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def test_these_services_and_no_other() -> None:
    assert set(SERVICES) == LASTING | {"runner"}
    assert {name for name, service in SERVICES.items() if "profiles" in service} == {"ray-gpu", "runner"}


def test_ports_are_published_on_loopback_and_only_mlflows() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"mlflow": ["127.0.0.1:5000:5000"]}
    assert not any("network_mode" in service for service in SERVICES.values())
    (hosts,) = [word for word in SERVICES["mlflow"]["command"] if word.startswith("--allowed-hosts=")]
    assert "*" not in hosts.partition("=")[2].split(","), "any web page could then ask it"


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_service_has_no_rights_it_does_not_need(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["user"] == "1000:1000"
    assert not {"privileged", "cap_add", "devices", "pid", "ipc"} & set(service)


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_secrets_are_files(name: str) -> None:
    service = SERVICES[name]
    for variable, value in (service.get("environment") or {}).items():
        if re.search(r"KEY|TOKEN|SECRET|PASSWORD", variable):
            assert variable.endswith(("_PATH", "_FILE"))
            assert value.startswith("/run/secrets/")
    mounts = [text.split(":") for text in service["volumes"]]
    secrets = [parts for parts in mounts if "secrets" in parts[0]]
    assert (
        secrets
        == {
            "mlflow": [],
            "ray-head": [["../secrets", "/run/secrets", "ro"]],
            "runner": [["../secrets", "/run/secrets", "ro"]],
            "ray-worker": [["../secrets/ray_token", "/run/secrets/ray_token", "ro"]],
            "ray-gpu": [["../secrets/ray_token", "/run/secrets/ray_token", "ro"]],
        }[name]
    )


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_volumes_are_declared_and_lie_where_the_image_keeps_things(name: str) -> None:
    mounts = [text.split(":") for text in SERVICES[name]["volumes"]]
    named = {parts[0] for parts in mounts if "/" not in parts[0]}
    assert named <= set(COMPOSE["volumes"])
    folders = {parts[1] for parts in mounts if not parts[1].startswith("/run/secrets")}
    wanted = {"/beeline/data", "/beeline/cache"}
    if name in ("ray-head", "runner"):
        wanted.add("/beeline/results")
    assert folders == ({"/beeline/mlflow"} if name == "mlflow" else wanted)
    made = re.search(r"install -d -m 1777 (.*) \\$", (ROOT / "docker/Dockerfile").read_text(), re.MULTILINE)
    assert made is not None
    assert folders <= set(made[1].split())


def test_lasting_services_are_watched_and_waited_for() -> None:
    for name in LASTING:
        assert SERVICES[name]["healthcheck"]["test"]
        assert SERVICES[name]["restart"] == "unless-stopped"
    for service in SERVICES.values():
        for other, wanted in service.get("depends_on", {}).items():
            assert wanted == {"condition": "service_healthy"}
            assert "healthcheck" in SERVICES[other]
    assert SERVICES["runner"]["restart"] == "no"


def test_commands_are_what_the_entry_point_knows() -> None:
    known = re.search(
        r"^(mlflow .*)\) exec \"\$@\"", (ROOT / "docker/entrypoint.sh").read_text(), re.MULTILINE
    )
    assert known is not None
    for name in LASTING:
        assert SERVICES[name]["command"][0] in known[1].split(" | ")
    for name in ("ray-worker", "ray-gpu"):
        assert "--address=ray-head:6379" in SERVICES[name]["command"]
    assert "--port=6379" in SERVICES["ray-head"]["command"]


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="docker-compose is not installed")
def test_compose_itself_accepts_the_file() -> None:
    done = subprocess.run(
        ["docker-compose", "-f", str(FILE), "config", "-q"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
