import pytest

from contracts.faults import DocumentRefused, Fault
from contracts.harvest import MAX_DEPTH, Harvest


def test_levels_are_counted_up_to_a_limit_and_the_faults_so_far_are_kept() -> None:
    harvest = Harvest()
    harvest.fault("/a", "is odd.")

    assert harvest.enter(0) == 1
    assert harvest.enter(MAX_DEPTH - 1) == MAX_DEPTH
    with pytest.raises(DocumentRefused) as caught:
        harvest.enter(MAX_DEPTH)
    assert caught.value.faults == (
        Fault("/a", "is odd."),
        Fault("", f"the document nests deeper than {MAX_DEPTH} levels."),
    )


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("-7", -7), ("+7", 7), ("2.40", 2.4), ("1e3", 1000.0), ("9" * 64, int("9" * 64))]
)
def test_numbers_keep_value_kind_and_spelling(text: str, value: float) -> None:
    harvest = Harvest()

    read = harvest.number(text, "/a")

    assert (read, type(read)) == (value, type(value))
    assert (harvest.spellings, harvest.faults) == ({"/a": text}, [])


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 65])
def test_what_no_document_may_hold_is_a_fault(text: str) -> None:
    harvest = Harvest()

    assert harvest.number(text, "/a") == 0
    assert harvest.faults == [Fault("/a", f"{text[:64]} is not a number that a document may hold.")]


def test_a_name_given_twice_is_a_fault_each_time() -> None:
    harvest = Harvest()

    assert harvest.members([("a/b", 1), ("a/b", 2), ("a/b", 3)], "/x") == {"a/b": 3}
    assert harvest.faults == [Fault("/x/a~1b", '"a/b" is given twice; remove one of the two.')] * 2


def test_half_a_surrogate_pair_is_no_text() -> None:
    harvest = Harvest()

    assert harvest.text("模型 😀", "/a") == "模型 😀"
    assert harvest.text("\ud83d", "/b") == ""
    assert [fault.path for fault in harvest.faults] == ["/b"]
