"""Every file in conf/model that names a host: complete, dated, and refused for the right reason."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from beeline.errors import ModelError, SettingError
from beeline.model import make_model
from beeline.overrides import config_folder, with_defaults
from beeline.spec import read_spec
from protocols.hosted import HostedModel
from protocols.settings import read_settings
from tests.protocols.asking import ask, question

FILES = {path.stem: path for path in sorted((config_folder() / "model").glob("*.yaml"))}
#: What a user must add to a file that names no server.
SERVER = ("http://127.0.0.1:8000/v1", "m")
NEEDED = {"local": SERVER, "local_chat": SERVER, "fireworks": (None, "m")}
FRONTIER = 255


@cache
def composed(name: str, *more: str) -> dict[str, Any]:
    """The whole config of ``model=name``, as the command composes it."""
    needed = [
        f"model.{key}={value}"
        for key, value in zip(("base_url", "id"), NEEDED.get(name, ()), strict=False)
        if value is not None
    ]
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        config = compose("config", overrides=[f"model={name}", "tracking=none", *needed, *more])
    plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


def hosted(name: str) -> HostedModel | None:
    config = with_defaults(FILES[name])
    if "base_url" not in config:
        return None
    model = make_model(composed(name)["model"])
    return model if isinstance(model, HostedModel) else None


MODELS = {name: model for name in FILES if (model := hosted(name)) is not None}
NAMED = [name for name in MODELS if name not in NEEDED]


@pytest.mark.parametrize("name", MODELS)
def test_the_file_is_its_models_name_and_its_settings_are_read_strictly(name: str) -> None:
    model = MODELS[name]
    assert model.name == name
    config = composed(name)["model"]
    others = ("name", "target", "replay", "orders", "placement", "backend", "weights")
    settings = {key: value for key, value in config.items() if key not in others}
    assert read_settings(type(model).settings_class, settings) == model.settings
    with pytest.raises(SettingError, match="did you mean price_input"):
        read_settings(type(model).settings_class, settings | {"price_inputs": 1})


@pytest.mark.parametrize("name", NAMED)
def test_label_key_and_limits_are_there(name: str) -> None:
    settings = MODELS[name].settings
    assert settings.label
    assert settings.key_variable is not None
    assert re.fullmatch(r"[A-Z][A-Z0-9_]*", settings.key_variable)
    assert settings.base_url.startswith("https://")
    assert MODELS[name].url.startswith(settings.base_url)
    assert 2 <= settings.max_options <= 255
    assert ("{account}" in settings.base_url) == (settings.account_variable is not None)


@pytest.mark.parametrize("name", MODELS)
def test_a_price_has_a_date_and_a_source(name: str) -> None:
    settings = MODELS[name].settings
    prices = (settings.price_input, settings.price_output)
    if prices == (None, None):
        assert (settings.price_date, settings.price_source) == (None, None)
        return
    assert settings.price_input is not None
    assert 0 < settings.price_input < 100  # US dollars a million, not a token
    assert settings.price_date is not None
    assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])(-\d\d)?", settings.price_date)
    assert settings.price_source is not None
    assert re.match(r"[\w-]+(\.[\w-]+)+(/|$)", settings.price_source)


def test_ids_and_labels_are_unique() -> None:
    ids = [MODELS[name].model_id for name in NAMED]
    labels = [MODELS[name].settings.label for name in NAMED]
    assert len(set(ids)) == len(ids)
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("name", MODELS)
def test_overrides_reach_every_setting(name: str) -> None:
    more = (
        "model.max_usd=2.5",
        "model.concurrency=3",
        "model.served_names=[x]",
        "model.requests_per_minute=9",
    )
    model = make_model(composed(name, *more)["model"])
    assert isinstance(model, HostedModel)
    assert (model.caps().usd, model.concurrency) == (2.5, 3)
    assert (model.settings.served_names, model.settings.requests_per_minute) == (("x",), 9.0)


@pytest.mark.parametrize("name", MODELS)
def test_a_run_is_planned_up_to_the_missing_key(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)  # no .env
    model = MODELS[name]
    variables = [v for v in (model.settings.key_variable, model.settings.account_variable) if v]
    for variable in variables:
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv(f"{variable}_FILE", raising=False)
    config = {key: value for key, value in composed(name).items() if key != "hydra"}
    if model.max_options < FRONTIER:
        with pytest.raises(SettingError) as caught:
            read_spec(config)
        assert str(caught.value) == (
            f"model {name} holds {model.max_options} options a question, and a frontier of version 1.0.0 "
            "holds up to 255: it cannot be run (options are never left out)"
        )
        return
    for variable in variables:
        with pytest.raises(SettingError, match=f"type export {variable}=YOUR_KEY and run again"):
            read_spec(config)
        monkeypatch.setenv(variable, "planted")
    spec = read_spec(config)
    assert spec.model is not None
    assert spec.model.model_id == model.model_id
    assert "planted" not in repr(spec)
    assert "planted" not in repr(spec.as_dict())


def test_a_small_model_runs_with_a_version_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "planted")
    config = composed("solar_decide", "version.max_frontier=26", "custom=small")
    spec = read_spec({key: value for key, value in config.items() if key != "hydra"})
    assert spec.model is not None
    assert (spec.model.max_options, spec.version) == (26, "custom-small")


def test_which_files_refuse_the_benchmark() -> None:
    small = {name: model.max_options for name, model in MODELS.items() if model.max_options < FRONTIER}
    assert small == {"fireworks": 208, "solar_decide": 26}
    for name, most in small.items():
        with pytest.raises(ModelError, match=f"takes 2 to {most} options a question, not {most + 1}"):
            ask(closed(name), question(*(f"o{i}" for i in range(most + 1))))


def closed(name: str) -> HostedModel:
    """The model of a file, without its key and never sending anything."""
    model = MODELS[name]
    settings = {
        **vars(model.settings),
        "key_variable": None,
        "account_variable": None,
        "base_url": "http://h",
    }
    return type(model)(name, type(model).settings_class(**settings))


def test_a_file_in_a_folder_of_ones_own_adds_a_model(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine.yaml").write_text(
        "defaults: [/defaults/hosted@_here_, _self_]\n"
        "name: mine\n"
        "target: protocols.systemone:SystemOne\n"
        "base_url: http://127.0.0.1:9/v1\n"
        "path: /systemone\n"
        "id: mine-1\n",
        "utf-8",
    )
    config = composed("mine", f"hydra.searchpath=[file://{tmp_path}]", "model.retries=2")
    spec = read_spec({key: value for key, value in config.items() if key != "hydra"})
    assert isinstance(spec.model, HostedModel)
    assert (spec.model.url, spec.model.settings.retries) == ("http://127.0.0.1:9/v1/systemone", 2)


def test_documents_name_every_file() -> None:
    pages = [path.read_text("utf-8") for path in (config_folder().parent / "docs").glob("*.md")]
    missing = [name for name in MODELS if not any(f"`{name}`" in page for page in pages)]
    assert not missing, f"no page in docs has a row for {missing}"
    variables = {model.settings.key_variable for model in MODELS.values()} - {None}
    assert not [v for v in variables if not any(f"`{v}`" in page for page in pages)]
