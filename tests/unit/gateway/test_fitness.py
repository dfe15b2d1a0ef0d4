"""A process with the wrong libraries must not serve."""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES

import pytest

from gateway.fitness import COMPILED, installed, origins, unfit

GOOD = {"uvloop": "0.23.0", "httptools": "0.9.0"}
FILES = {module: f"/x/{module}{EXTENSION_SUFFIXES[0]}" for module in COMPILED}


@pytest.mark.parametrize(
    ("versions", "files", "says"),
    [
        pytest.param(GOOD, FILES, [], id="fit"),
        pytest.param(GOOD | {"uvloop": "1.0"}, FILES, [], id="newer"),
        pytest.param(
            GOOD | {"uvloop": "0.22.1"}, FILES, ["uvloop 0.22.1 is too old; install uvloop>=0.23"], id="old-uvloop"
        ),
        pytest.param(
            GOOD | {"httptools": "0.8"}, FILES, ["httptools 0.8 is too old; install httptools>=0.9"], id="old-httptools"
        ),
        pytest.param(
            GOOD,
            FILES | {"uvloop.loop": None},
            ["uvloop.loop is not compiled here; install a wheel for this machine"],
            id="missing",
        ),
        pytest.param(
            GOOD,
            FILES | {"httptools.parser.parser": "/x/parser.py"},
            ["httptools.parser.parser is not compiled here; install a wheel for this machine"],
            id="pure-python",
        ),
    ],
)
def test_what_keeps_a_process_from_serving(
    versions: dict[str, str], files: dict[str, str | None], says: list[str]
) -> None:
    assert list(unfit(versions, files)) == says


def test_this_environment_is_fit() -> None:
    assert list(unfit(installed(), origins())) == []
