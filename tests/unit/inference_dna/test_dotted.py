import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_dna.dotted import DottedRange, parse_numbers


@pytest.mark.parametrize(
    ("wanted", "stated", "matches"),
    [
        ("12.1", "12.1", True),
        ("12.1", "12.1.105", True),
        ("12.1", "12.10", False),
        ("12.1", "12.2", False),
        ("12.1", "12", False),
        ("12.0", "12", True),
        ("12", "12.4", True),
        ("12.x", "12.9", True),
        ("12.*", "13.0", False),
        ("8.9.2", "8.9.2", True),
        ("8.9.2", "8.9.2.26", True),
        ("8.9.2", "8.9.3", False),
        ("=8.9.2", "8.9.2", True),
        (">=12.1 <13", "12.9.1", True),
        (">=12.1 <13", "13.0", False),
        (">=12.1 <13", "12.0", False),
        (">= 12.1  < 13", "12.1", True),
        (">12.1", "12.1.105", False),
        (">12.1", "12.2", True),
        ("<=12.1", "12.1.105", True),
        ("<=12.1", "12.2", False),
        ("^12.1", "12.9", True),
        ("^12.1", "12.0", False),
        ("^12.1", "13.0", False),
        ("~12.1", "12.1.9", True),
        ("~12.1", "12.2", False),
        ("~12", "12.2", True),
        ("~12", "13.0", False),
        ("12.1 - 12.4", "12.4.9", True),
        ("12.1 - 12.4", "12.5", False),
        ("11.8 || 12.1", "11.8.89", True),
        ("11.8||12.1", "12.0", False),
        (">=535.54.03", "535.129.03", True),
        (">=535.129.03", "535.129.3", True),
        ("12.1", "twelve", False),
        ("12.1", "", False),
        ("12.1", "12.1 ", False),
        ("12.1", "٣", False),
    ],
)
def test_what_a_range_of_numbers_matches(wanted: str, stated: str, matches: bool) -> None:
    assert DottedRange.parse(wanted).matches(stated) is matches


@pytest.mark.parametrize(
    "text",
    ["", " ", "twelve", "12.", ".1", "v12", "12.1 ||", ">=", "12,1", "12.1-12.4", "==12", "*", "１２", "1" * 101],
)
def test_other_texts_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r'write "12\.1" for 12\.1\.x'):
        DottedRange.parse(text)


@pytest.mark.parametrize(("wanted", "parts"), [("12", 1), ("12.1", 2), (">=535.54.03 <550", 3), ("12 || 8.9.2", 3)])
def test_how_exact_an_answer_must_be(wanted: str, parts: int) -> None:
    assert DottedRange.parse(wanted).parts == parts


@settings(deadline=None)
@given(st.text(), st.lists(st.integers(0, 999), min_size=1, max_size=4))
def test_a_range_answers_whatever_a_worker_states(stated: str, numbers: list[int]) -> None:
    text = ".".join(map(str, numbers))

    assert DottedRange.parse(text).matches(text)
    assert DottedRange.parse(text).matches(stated) in (True, False)


def test_numbers_with_dots() -> None:
    assert parse_numbers("535.129.03") == (535, 129, 3)
    assert parse_numbers("535.") is None
