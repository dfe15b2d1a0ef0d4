"""What compiled code writes is found by the names that stand in its graphs."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from worker.isolation import compiled

pytestmark = [pytest.mark.models, pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")]


class Inner(torch.nn.Module):
    history: list[int]

    def __init__(self) -> None:
        super().__init__()
        self.history = [0]
        self.asked = 0
        self.table = torch.zeros(2)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return ids.sum() + self.asked + len(self.history) + self.table.sum()


class Counting(Inner):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        self.asked += 1
        return ids.sum() + self.asked + len(self.history) + self.table.sum()


class Remembering(Inner):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        self.history.append(1)
        return ids.sum() + self.asked + len(self.history) + self.table.sum()


class Writing(Inner):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        self.table[0] += 1.0
        return ids.sum() + self.asked + len(self.history) + self.table.sum()


class Outer(torch.nn.Module):
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        answer: torch.Tensor = self.inner(ids)
        return answer


def values(module: Any) -> dict[str, str]:
    return {place: str(value) for place, value in compiled.inside_of_compiled(module).items()}


@pytest.mark.parametrize(
    ("inner", "place"),
    [(Counting, "inner.asked"), (Remembering, "inner.history"), (Writing, "inner.table")],
    ids=["number", "list", "tensor"],
)
def test_an_attribute_that_code_wrote_is_named(inner: Callable[[], Any], place: str) -> None:
    module = torch.jit.script(Outer(inner()))
    before = values(module)
    module(torch.ones(1))
    after = values(module)

    assert [name for name in before if before[name] != after[name]] == [place]


def test_code_that_writes_nothing_changes_nothing() -> None:
    module = torch.jit.script(Outer(Inner()))
    before = values(module)
    module(torch.ones(1))

    assert values(module) == before
    assert {"training", "inner.history", "inner.asked", "inner.table"} <= set(before)
