from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from gateway.process import connections_within

SCRIPT = """
import resource
from gateway.process import raise_descriptors
print(raise_descriptors(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


@pytest.mark.parametrize(
    ("descriptors", "wanted", "most"),
    [(1024, 10_000, 640), (20_000, 10_000, 10_000), (sys.maxsize, 10_000, 10_000), (1024, 100, 100), (16, 10_000, 1)],
)
def test_connections_leave_descriptors_for_workers_and_the_admin_port(descriptors: int, wanted: int, most: int) -> None:
    assert connections_within(descriptors, wanted) == most


def test_the_limit_of_descriptors_is_raised_as_far_as_it_may_be() -> None:
    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 512))

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], preexec_fn=lower, capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.split() == ["512", "512"]
