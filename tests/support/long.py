"""The mark of tests that `make test` leaves to `LONG=1 make test`, which CI runs."""

from __future__ import annotations

import os

import pytest

LONG = pytest.mark.skipif("LONG" not in os.environ, reason="a long test; LONG=1 make test runs it")
