from __future__ import annotations

import gc
import resource
import subprocess
import sys
from collections.abc import Iterator

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


SETTLED = """
import gc, sys
from gateway.process import settle
settle()
print(gc.get_freeze_count() > 0, sys.getswitchinterval() < 0.001)
"""


def test_a_gateway_at_work_is_held_up_by_neither_collector_nor_threads() -> None:
    done = subprocess.run([sys.executable, "-c", SETTLED], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.split() == ["True"] * 2


@pytest.fixture
def set_aside() -> Iterator[SetAside]:
    """Nothing is set aside at first, and the collector is as it was in the end."""
    thresholds = gc.get_threshold()
    gc.unfreeze()
    yield SetAside()
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def test_what_many_documents_are_made_of_is_set_aside_and_no_full_collection_comes_between(
    set_aside: SetAside,
) -> None:
    usual = gc.get_threshold()
    with set_aside.taking_in(10_000):
        assert gc.get_threshold()[:2] == usual[:2]
        assert gc.get_threshold()[2] > 1_000_000
        assert gc.get_freeze_count() == 0

    assert gc.get_threshold() == usual
    assert gc.get_freeze_count() > 0


def test_few_documents_are_left_to_the_collector_until_they_are_many(set_aside: SetAside) -> None:
    frozen = []
    for documents in (1, 400, 98, 1, 1, 600):
        with set_aside.taking_in(documents):
            pass
        frozen.append(gc.get_freeze_count() > 0)
        gc.unfreeze()

    assert frozen == [False, False, False, True, False, True]


def test_the_collector_is_as_before_where_the_documents_could_not_be_taken_in(set_aside: SetAside) -> None:
    usual = gc.get_threshold()
    with pytest.raises(RuntimeError), set_aside.taking_in(10_000):
        raise RuntimeError("stumbled")

    assert gc.get_threshold() == usual


SETTING_ASIDE = """
import gc
from gateway.process import SetAside
gc.collect()
gc.freeze()
SetAside().watch()
before = gc.get_freeze_count()
for many in (10_000, 30_000, 1_000, 3_000, 30_000):
    kept = [[] for _ in range(many)]
    gc.collect()
    print(gc.get_freeze_count() - before >= many, end=" ")
    del kept
    assert gc.get_freeze_count() < before + 1_000
"""


def test_what_lasts_is_set_aside_where_it_is_much_and_freed_when_nothing_refers_to_it() -> None:
    done = subprocess.run([sys.executable, "-c", SETTING_ASIDE], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.split() == ["False", "True", "False", "False", "True"]


RINGS = """
import gc
from gateway.process import SetAside
gc.collect()
gc.freeze()
SetAside().watch()
before, left = gc.get_freeze_count(), []
for _ in range(30):
    kept = [[] for _ in range(30_000)]
    for one in kept:
        one.append(one)
    gc.collect()
    del kept, one
    gc.collect()
    left.append(gc.get_freeze_count() - before)
print(left[-1] < 18 * 30_000, left[-1] == left[-10])
"""


def test_garbage_that_was_set_aside_before_it_was_garbage_has_a_bound() -> None:
    done = subprocess.run([sys.executable, "-c", RINGS], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.split() == ["True", "True"]
