"""Names have a bound, wherever they come from."""

from __future__ import annotations

import pytest

from gateway.proxy.envelope import read_envelope
from gateway.proxy.names import MAX_NAME, check_names
from gateway.proxy.problem import Refused
from gateway.proxy.target import parse_target


@pytest.mark.parametrize("name", [None, "", "m", "m" * MAX_NAME, b"m" * MAX_NAME])
def test_what_fits(name: str | bytes | None) -> None:
    check_names("a", name)


@pytest.mark.parametrize("name", ["m" * (MAX_NAME + 1), b"m" * (MAX_NAME + 1)])
def test_what_does_not(name: str | bytes) -> None:
    with pytest.raises(Refused) as refused:
        check_names("a", None, name)

    assert refused.value.problem.status == 400


LONG = b"z" * (MAX_NAME + 1)


@pytest.mark.parametrize("target", [b"/v2/models/" + LONG + b"/infer", b"/v2/models/m/versions/" + LONG + b"/infer"])
def test_a_path_names_nothing_longer(target: bytes) -> None:
    with pytest.raises(Refused, match="at most 256 characters"):
        parse_target(target, b"a")


@pytest.mark.parametrize("model", [LONG, b"m@" + LONG])
def test_a_body_names_nothing_longer(model: bytes) -> None:
    with pytest.raises(Refused, match="at most 256 characters"):
        read_envelope(b'{"model": "' + model + b'"}')


@pytest.mark.parametrize("version", [b"v1.0." + b"9" * 256, b"1.1.0-" + b"a" * 300, b"v1.1.0+" + b"a" * 300])
def test_a_version_in_the_path_is_no_longer(version: bytes) -> None:
    with pytest.raises(Refused, match="at most 256 characters"):
        parse_target(b"/" + version + b"/generate", b"a")
