"""One real Consul for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.consul import ConsulAgent, running_consul
from tests.support.enlisted_fleet import EnlistedFleet, enlisted_fleet


@pytest.fixture(scope="module")
def consul() -> Iterator[ConsulAgent]:
    """A development agent; each test writes below a prefix of its own."""
    with running_consul() as agent:
        yield agent


@pytest.fixture(scope="module")
def guarded() -> Iterator[ConsulAgent]:
    """A development agent with rights switched on."""
    with running_consul(acl=True) as agent:
        yield agent


@pytest.fixture(scope="module")
def fleet() -> Iterator[EnlistedFleet]:
    """Workers to register: two versions of a model behind one service, and one that lies."""
    with enlisted_fleet() as made:
        yield made
