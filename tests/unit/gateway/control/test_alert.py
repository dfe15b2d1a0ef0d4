from __future__ import annotations

import pytest

from gateway.control.alert import ended_by, raised_by, to_json
from gateway.telemetry.changes import Change
from gateway.telemetry.changes import ChangeKind as Kind


def change(kind: Kind) -> Change:
    return Change(
        kind,
        7,
        model_id="m",
        version="v1.0.0",
        instance="10.0.0.1:8000",
        key="contracts/m/v1.0.0",
        reason="digest differs",
        source="response",
        dna="a1b2c3d49f8e7d6c",
    )


@pytest.mark.parametrize(
    ("raises", "ends"),
    [
        pytest.param(Kind.INSTANCE_EJECTED, Kind.INSTANCE_READMITTED, id="readmitted"),
        pytest.param(Kind.INSTANCE_EJECTED, Kind.INSTANCE_REMOVED, id="removed"),
        pytest.param(Kind.INSTANCE_EJECTED, Kind.INSTANCE_UNVERIFIED, id="loading-something-else"),
        pytest.param(Kind.DOCUMENT_REJECTED, Kind.DOCUMENT_MENDED, id="mended"),
        pytest.param(Kind.DOCUMENT_REJECTED, Kind.DOCUMENT_REMOVED, id="taken-away"),
        pytest.param(Kind.VERSION_UNSERVED, Kind.VERSION_SERVED, id="served"),
        pytest.param(Kind.VERSION_UNSERVED, Kind.VERSION_WITHDRAWN, id="no-longer-wanted"),
    ],
)
def test_what_ends_an_alert_has_the_labels_of_what_raised_it(raises: Kind, ends: Kind) -> None:
    alert = raised_by(change(raises), gateway="gw-1", at=0.0)

    assert alert is not None
    assert ended_by(change(ends), gateway="gw-1") == alert.labels


@pytest.mark.parametrize("kind", [Kind.INSTANCE_DOWN, Kind.INSTANCE_SUSPECT, Kind.GENERATION_SWAPPED])
def test_other_changes_raise_and_end_nothing(kind: Kind) -> None:
    assert raised_by(change(kind), gateway="gw-1", at=0.0) is None
    assert ended_by(change(kind), gateway="gw-1") is None


def test_the_form_is_alertmanagers() -> None:
    alert = raised_by(change(Kind.INSTANCE_EJECTED), gateway="gw-1", at=1_700_000_000.5)
    assert alert is not None
    told = to_json(alert, generator_url="http://gw-1:8081/status")

    assert told == {
        "labels": {
            "alertname": "GatewayInstanceEjected",
            "gateway": "gw-1",
            "instance": "10.0.0.1:8000",
            "model": "m",
            "severity": "critical",
            "version": "v1.0.0",
        },
        "annotations": {
            "summary": "10.0.0.1:8000 was ejected from m v1.0.0: digest differs",
            "description": "DNA a1b2c3d49f8e7d6c, seen by response, generation 7",
        },
        "startsAt": "2023-11-14T22:13:20.500Z",
        "generatorURL": "http://gw-1:8081/status",
    }
    assert to_json(alert.ended(1_700_000_001.0), generator_url="x")["endsAt"] == "2023-11-14T22:13:21.000Z"


def test_a_document_is_identified_by_its_key() -> None:
    alert = raised_by(change(Kind.DOCUMENT_REJECTED), gateway="gw-1", at=0.0)

    assert alert is not None
    assert dict(alert.labels)["document"] == "contracts/m/v1.0.0"
    assert "last good state serves" in alert.summary
