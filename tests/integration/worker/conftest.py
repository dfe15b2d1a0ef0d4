"""Worker processes that live as long as the tests of one file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.settled_pytorch import computing as computing
from tests.support.settled_pytorch import pytorch_as_before as pytorch_as_before
from tests.support.worker_process import Start, starting


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    with starting() as starts:
        yield starts
