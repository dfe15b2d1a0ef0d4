"""What `--source` may name."""

from __future__ import annotations

from pathlib import Path

import consul.base
import pytest

from gateway.opened import SourceUnknown, place_of
from gateway.sources.consul.address import AddressRefused, ConsulAddress


def test_a_folder_or_consul() -> None:
    assert place_of("file:/etc/inference", {}) == Path("/etc/inference")
    assert place_of("consul://c:1/inference", {}) == ConsulAddress("c", 1)


@pytest.mark.parametrize("source", [None, "", "file:", "/etc/inference", "http://c:8500"])
def test_anything_else_is_answered_with_what_to_write(source: str | None) -> None:
    with pytest.raises(SourceUnknown, match="write file:DIR or consul://"):
        place_of(source, {})


def test_certificates_are_looked_at_before_the_start() -> None:
    with pytest.raises(AddressRefused, match="cannot be used"):
        place_of("consul://c?ca_file=nowhere", {})


def test_the_dead_library_under_the_same_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(consul.base.Consul, "prepare_headers")
    with pytest.raises(SourceUnknown, match="pip uninstall python-consul"):
        place_of("consul://c", {})
