from __future__ import annotations

import os
from dataclasses import fields
from ipaddress import ip_network
from typing import Any

import pytest

from gateway.control.alert import AlertSettings
from gateway.health.liveness import LivenessSettings
from gateway.health.retry_budget import BudgetSettings
from gateway.proxy.limits import Limits
from gateway.settings import Settings, SettingsRefused, load, show, unknown_variables, variable


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GATEWAY_")]:
        monkeypatch.delenv(name)


def test_the_defaults_are_those_of_the_parts_that_use_them() -> None:
    settings = load()

    assert settings.limits == Limits()
    assert settings.liveness == LivenessSettings()
    assert settings.alerts == AlertSettings()
    assert settings.retry_budget == BudgetSettings()
    assert (settings.port, settings.admin_port, settings.probe_interval_s) == (8080, 8081, 5.0)


def test_every_number_of_the_data_plane_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    special = {"stream_buffer_high": "1000000", "trusted_proxies": "10.0.0.0/8"}
    for number, field in enumerate(fields(Limits), start=1):
        monkeypatch.setenv(variable(field.name), special.get(field.name, str(number)))

    settings = load()

    for field in fields(Limits):
        assert getattr(settings.limits, field.name) == getattr(settings, field.name) != field.default


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("GATEWAY_SOURCE", "file:/documents", "file:/documents"),
        ("GATEWAY_HOST", "::1", "::1"),
        ("GATEWAY_TRUSTED_PROXIES", "", ()),
        ("GATEWAY_TRUSTED_PROXIES", "10.0.0.7, fd00::/8", (ip_network("10.0.0.7"), ip_network("fd00::/8"))),
        ("GATEWAY_PORT", "9000", 9000),
        ("GATEWAY_ADMIN_PORT", "9001", 9001),
        ("GATEWAY_PROBE_INTERVAL", "0.5", 0.5),
        ("GATEWAY_ALERT_URL", "http://alerts:9093", "http://alerts:9093"),
        ("GATEWAY_LOG_FORMAT", "json", "json"),
    ],
)
def test_every_option_is_a_variable_too(monkeypatch: pytest.MonkeyPatch, name: str, text: str, value: object) -> None:
    monkeypatch.setenv(name, text)
    found = {one.variable: one for one in show(load())}[name]

    assert (found.value, found.origin) == (value, "environment")


def test_an_option_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_PORT", "9000")

    assert load(port=7000, host=None).port == 7000


def test_an_empty_variable_is_one_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_ALERT_URL", "")

    assert load().alert_url is None


def test_a_kubernetes_service_called_gateway_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_PORT", "tcp://10.0.0.1:8080")
    monkeypatch.setenv("GATEWAY_PORT_8080_TCP_ADDR", "10.0.0.1")
    monkeypatch.setenv("GATEWAY_SERVICE_HOST", "10.0.0.1")

    assert load().port == 8080
    assert unknown_variables() == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param({"port": 70_000}, "--port: should be less than or equal to 65535, not 70000", id="port"),
        pytest.param({"probe_interval_s": 0}, "--probe-interval: should be greater than 0", id="interval"),
        pytest.param({"log_format": "xml"}, "--log-format: should be 'auto', 'json' or 'text'", id="choice"),
        pytest.param({"alert_url": "mailto:me"}, "--alert-url: write a URL", id="url"),
        pytest.param({"trusted_proxies": "10.0.0.1/8"}, "--trusted-proxies: write networks such as", id="bits"),
        pytest.param({"stream_buffer_low": 65_536}, "must be below stream_buffer_high", id="order"),
    ],
)
def test_an_option_that_cannot_be_used_is_named_as_it_was_typed(options: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsRefused) as refused:
        load(**options)

    assert says in str(refused.value)


def test_every_fault_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_PORT", "http")
    monkeypatch.setenv("GATEWAY_PROBE_INTERVAL", "often")

    with pytest.raises(SettingsRefused) as refused:
        load()

    assert [line.partition(":")[0] for line in str(refused.value).splitlines()] == [
        "GATEWAY_PORT",
        "GATEWAY_PROBE_INTERVAL",
    ]


def test_a_slip_of_the_pen_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_PROBE_INTERVALL", "3")

    assert unknown_variables() == ["GATEWAY_PROBE_INTERVALL is no setting; did you mean GATEWAY_PROBE_INTERVAL?"]


def test_every_setting_says_what_it_does() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []
    assert len({variable(name) for name in Settings.model_fields}) == len(Settings.model_fields)


def test_settings_cannot_be_changed_afterwards() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load().port = 1  # type: ignore[misc]
