from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from gateway.telemetry.access import AccessRecord
from gateway.telemetry.changes import Change, ChangeKind
from gateway.telemetry.counts import count
from gateway.telemetry.gauges import FleetFigures, FleetGauges, VersionFigures
from gateway.telemetry.metrics import Metrics

AT = datetime(2025, 1, 31, tzinfo=UTC)


class Counted:
    """Metrics that know `m` v1.0.0 and v2.0.0, the second deprecated, and what a scrape shows."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.metrics = Metrics(self.registry, build="1.2.3", lines_dropped=lambda: 4)
        self.metrics.keep("m", {"v1.0.0": None, "v2.0.0": (AT - timedelta(days=1)).timestamp()})

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)

    def finished(self, **fields: Any) -> None:
        values: dict[str, Any] = {
            "ts": AT,
            "request_id": "r",
            "method": "POST",
            "path": "/",
            "model_id": "m",
            "version": "v1.0.0",
            "route_reason": "exact",
            "attempts": 1,
            "status": 200,
            "duration_ms": 30.0,
            "ttfb_ms": 10.0,
            **fields,
        }
        self.metrics.finished(AccessRecord(**values), upstream_s=0.0295)


@pytest.fixture
def counted() -> Counted:
    return Counted()


V1 = {"model": "m", "version": "v1.0.0"}
V2 = {"model": "m", "version": "v2.0.0"}
UNKNOWN = {"model": "unknown", "version": "unknown"}


def test_a_request_that_ended(counted: Counted) -> None:
    counted.finished()

    assert counted.value("gateway_requests_total", **V1, reason="exact", code_class="2xx") == 1
    assert counted.value("gateway_route_decisions_total", **V1, reason="exact") == 1
    assert counted.value("gateway_request_duration_seconds_count", **V1) == 1
    assert counted.value("gateway_request_duration_seconds_bucket", **V1, le="0.04") == 1
    assert counted.value("gateway_request_duration_seconds_bucket", **V1, le="0.02") == 0
    assert counted.value("gateway_time_to_first_byte_seconds_sum", **V1) == pytest.approx(0.01)
    assert counted.value("gateway_overhead_seconds_bucket", le="0.001") == 1
    assert counted.value("gateway_overhead_seconds_bucket", le="0.0002") == 0


@pytest.mark.parametrize(
    ("fields", "labels"),
    [
        pytest.param({"attempts": 0, "status": 503}, {**V1, "reason": "rejected"}, id="nothing-ready"),
        pytest.param(
            {"attempts": 0, "status": 499, "code": "client_left"}, {**V1, "reason": "exact"}, id="the-client-left"
        ),
        pytest.param(
            {"model_id": "made/up", "version": None, "route_reason": None, "attempts": 0, "status": 404},
            {**UNKNOWN, "reason": "rejected"},
            id="unknown-model",
        ),
        pytest.param(
            {"version": None, "route_reason": None, "attempts": 0, "status": 404},
            {"model": "m", "version": "unknown", "reason": "rejected"},
            id="unknown-version",
        ),
    ],
)
def test_what_was_not_routed_is_a_rejection(counted: Counted, fields: dict[str, Any], labels: dict[str, str]) -> None:
    counted.finished(**fields)

    assert counted.value("gateway_route_decisions_total", **labels) == 1


def test_an_answer_of_our_own_is_no_decision(counted: Counted) -> None:
    counted.finished(model_id=None, version=None, route_reason=None, attempts=0)

    assert counted.value("gateway_route_decisions_total", **UNKNOWN, reason="rejected") is None
    assert counted.value("gateway_requests_total", **UNKNOWN, reason="local", code_class="2xx") == 1


def test_deprecated_versions_in_use(counted: Counted) -> None:
    counted.finished(version="v2.0.0")
    counted.finished(version="v2.0.0", ts=AT - timedelta(days=2))
    counted.finished()

    assert counted.value("gateway_deprecated_requests_total", **V2) == 1
    assert counted.value("gateway_deprecated_requests_total", **V1) == 0


def test_a_request_that_outlives_its_version_is_not_missed_when_the_version_comes_back(counted: Counted) -> None:
    under_way = counted.metrics.of("m", "v1.0.0")
    under_way.in_flight += 1
    assert counted.value("gateway_requests_in_flight", **V1) == 1

    counted.metrics.keep("m", {})
    counted.metrics.keep("m", {"v1.0.0": None})
    under_way.in_flight -= 1

    assert counted.metrics.of("m", "v1.0.0").in_flight == 0


def test_a_version_becomes_deprecated_without_losing_its_counts(counted: Counted) -> None:
    counted.finished()
    counted.metrics.keep("m", {"v1.0.0": (AT - timedelta(days=1)).timestamp()})
    counted.finished()

    assert counted.value("gateway_deprecated_requests_total", **V1) == 1
    assert counted.value("gateway_requests_total", **V1, reason="exact", code_class="2xx") == 2


def test_a_version_that_is_only_probed_has_no_series_of_requests(counted: Counted) -> None:
    counted.metrics.identity_checked("m", "v1.0.0", source="probe", verdict="match", assurance="label")
    text = generate_latest(counted.registry).decode()

    assert 'gateway_identity_checks_total{assurance="label"' in text
    assert 'gateway_request_duration_seconds_count{model="m"' not in text


def test_everything_the_data_plane_says(counted: Counted) -> None:
    metrics, counts = counted.metrics, counted.metrics.of("m", "v1.0.0")
    counts.attempts += 1
    counts.dials += 1
    counts.stale_reuse += 1
    counts.budget_exhausted += 1
    counts.canary_returned += 1
    count(counts.upstream_errors, "refused")
    count(counts.streams_failed, "truncated")
    metrics.refused("framing")
    metrics.trailers_dropped(3)
    metrics.client_left("stream")

    assert counted.value("gateway_upstream_attempts_total", **V1) == 1
    assert counted.value("gateway_upstream_dials_total", **V1) == 1
    assert counted.value("gateway_upstream_errors_total", **V1, kind="refused") == 1
    assert counted.value("gateway_stale_reuse_total", **V1) == 1
    assert counted.value("gateway_retry_budget_exhausted_total", **V1) == 1
    assert counted.value("gateway_streams_failed_total", **V1, kind="truncated") == 1
    assert counted.value("gateway_canary_returned_total", **V1) == 1
    assert counted.value("gateway_requests_refused_total", kind="framing") == 1
    assert counted.value("gateway_trailers_dropped_total") == 3
    assert counted.value("gateway_client_disconnects_total", phase="stream") == 1
    assert counted.value("gateway_client_disconnects_total", phase="body") == 0


def test_everything_the_control_plane_says(counted: Counted) -> None:
    metrics = counted.metrics
    metrics.identity_checked("m", "v1.0.0", source="probe", verdict="match", assurance="full-hash")
    metrics.identity_checked("m", "v1.0.0", source="probe", verdict="none", assurance=None)
    metrics.probed(0.004, None)
    metrics.probed(2.0, "timeout")
    metrics.watch_restarted()
    metrics.alert_dropped()
    metrics.loop_lagged(0.003)
    metrics.change(Change(ChangeKind.INSTANCE_EJECTED, 1, model_id="m", version="v1.0.0", source="response"))
    metrics.change(Change(ChangeKind.DOCUMENT_REJECTED, 1, key="routes/m", cause="invalid"))
    metrics.change(Change(ChangeKind.DOCUMENT_REJECTED, 1, key="contracts/m/v1.0.0", cause="conflict"))
    metrics.change(Change(ChangeKind.REMOVALS_HELD, 1, cause="shorter"))
    metrics.change(Change(ChangeKind.GENERATION_SWAPPED, 2))
    checks = {**V1, "source": "probe"}

    assert counted.value("gateway_identity_checks_total", **checks, verdict="match", assurance="full-hash") == 1
    assert counted.value("gateway_identity_checks_total", **checks, verdict="none", assurance="none") == 1
    assert counted.value("gateway_probe_duration_seconds_count") == 2
    assert counted.value("gateway_probe_failures_total", kind="timeout") == 1
    assert counted.value("gateway_watch_restarts_total") == 1
    assert counted.value("gateway_alerts_dropped_total") == 1
    assert counted.value("gateway_event_loop_lag_seconds_count") == 1
    assert counted.value("gateway_ejections_total", **V1, source="response") == 1
    assert counted.value("gateway_config_rejected_total", kind="route", reason="invalid") == 1
    assert counted.value("gateway_config_rejected_total", kind="contract", reason="conflict") == 1
    assert counted.value("gateway_config_suspicious_total", cause="shorter") == 1
    assert counted.value("gateway_log_lines_dropped_total") == 4


def test_what_leaves_the_documents_leaves_the_registry(counted: Counted) -> None:
    counted.finished()
    counted.finished(version="v2.0.0")
    counted.metrics.keep("m", {"v2.0.0": None})

    assert b'version="v1.0.0"' not in generate_latest(counted.registry)
    assert b'version="v2.0.0"' in generate_latest(counted.registry)

    counted.metrics.keep("m", {})

    assert b'model="m"' not in generate_latest(counted.registry)


def test_text_of_a_client_is_never_a_label(counted: Counted) -> None:
    for number in range(100):
        counted.finished(model_id=f"made-up-{number}", version=None, status=404, attempts=0)
        counted.metrics.of("m", f"v{number}.9.9").attempts += 1

    assert b"made-up" not in generate_latest(counted.registry)
    assert b".9.9" not in generate_latest(counted.registry)


FIGURES = FleetFigures(
    generation=7,
    last_success=1_700_000_000.0,
    config_hash="0123456789ab",
    source="files",
    documents={("contract", "ok"): 2, ("route", "missing"): 0},
    versions=(
        VersionFigures("m", "v1.0.0", {("verified", "up"): 2, ("ejected", "down"): 0}, True, 0.95, False),
        VersionFigures("m", "v2.0.0", {("verified", "up"): 0}, False, None, True),
    ),
)


def test_gauges_show_the_figures_of_the_moment() -> None:
    registry = CollectorRegistry()
    figures = [FIGURES]
    FleetGauges(registry, lambda: figures[-1])
    value = registry.get_sample_value

    assert value("gateway_config_generation") == 7
    assert value("gateway_config_last_success_timestamp_seconds") == 1_700_000_000.0
    assert value("gateway_config_info", {"hash": "0123456789ab", "source": "files"}) == 1
    assert value("gateway_config_documents", {"kind": "contract", "state": "ok"}) == 2
    assert value("gateway_config_documents", {"kind": "route", "state": "missing"}) == 0
    assert value("gateway_instances", {**V1, "identity": "verified", "liveness": "up"}) == 2
    assert value("gateway_instances", {**V1, "identity": "ejected", "liveness": "down"}) == 0
    assert value("gateway_enforcement_observe", V1) == 1
    assert value("gateway_route_share_ratio", V1) == 0.95
    assert value("gateway_route_share_ratio", V2) is None
    assert value("gateway_liveness_panic", V2) == 1

    figures.append(FleetFigures(8, None, "", "files", {}, ()))

    assert value("gateway_config_last_success_timestamp_seconds") is None
    assert value("gateway_instances", {**V1, "identity": "verified", "liveness": "up"}) is None


NAMES = """
gateway_requests_total gateway_request_duration_seconds gateway_time_to_first_byte_seconds gateway_overhead_seconds
gateway_requests_in_flight gateway_route_decisions_total gateway_route_share_ratio gateway_canary_returned_total
gateway_identity_checks_total gateway_ejections_total gateway_instances gateway_enforcement_observe
gateway_probe_duration_seconds gateway_probe_failures_total gateway_upstream_attempts_total
gateway_upstream_errors_total gateway_retry_budget_exhausted_total gateway_stale_reuse_total gateway_liveness_panic
gateway_requests_refused_total gateway_trailers_dropped_total gateway_event_loop_lag_seconds
gateway_streams_failed_total gateway_client_disconnects_total gateway_config_generation
gateway_config_last_success_timestamp_seconds gateway_config_info gateway_config_documents
gateway_config_rejected_total gateway_config_suspicious_total gateway_watch_restarts_total
gateway_deprecated_requests_total gateway_build_info
"""


def test_every_metric_has_the_name_of_the_reference_and_a_help_text(counted: Counted) -> None:
    FleetGauges(counted.registry, lambda: FIGURES)
    text = generate_latest(counted.registry).decode()
    helped = dict(re.findall(r"^# HELP (\S+) (.+)$", text, re.MULTILINE))

    assert set(NAMES.split()) <= helped.keys()
    assert all(name.startswith("gateway_") for name in helped)
    assert not [name for name in helped if "milli" in name or name != name.lower()]
