from __future__ import annotations

import gc
import resource
import subprocess
import sys

import pytest

from gateway.process import SetAside, connections_within

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


def test_many_documents_are_set_aside_once_and_again_when_there_are_half_as_many_more() -> None:
    set_aside, frozen = SetAside(), []
    try:
        for documents in (50, 10_000, 10_001, 14_000, 16_000):
            gc.unfreeze()
            set_aside.grown_to(documents)
            frozen.append(gc.get_freeze_count() > 0)
    finally:
        gc.unfreeze()

    assert frozen == [False, True, False, False, True]
