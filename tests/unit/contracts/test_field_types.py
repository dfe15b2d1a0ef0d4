from datetime import UTC, datetime

import pytest

from contracts.field_types import parse_instant, parse_schema_version


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-31", datetime(2026, 3, 31, tzinfo=UTC)),
        ("2026-03-31T12:00:00Z", datetime(2026, 3, 31, 12, tzinfo=UTC)),
        ("2026-03-31t12:00z", datetime(2026, 3, 31, 12, tzinfo=UTC)),
        ("2026-03-31 12:00:00.5+08:00", datetime(2026, 3, 31, 4, 0, 0, 500_000, tzinfo=UTC)),
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC)),
        ("1971-01-01T00:00:00+14:00", datetime(1970, 12, 31, 10, tzinfo=UTC)),
    ],
)
def test_a_date_is_its_first_moment_and_a_time_has_a_zone(text: str, moment: datetime) -> None:
    read = parse_instant(text)

    assert read == moment
    assert read.tzinfo is UTC


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("2026-03-31T12:00:00", "does not say its time zone; add Z"),
        ("2026-03-31 12:00", "does not say its time zone"),
        ("2026-02-30", "does not exist in the calendar"),
        ("2026-03-31T25:00:00Z", "does not exist in the calendar or on the clock"),
        ("2026-12-31T23:59:60Z", "does not exist in the calendar or on the clock"),
        ("0001-01-01T00:00:00+14:00", "outside the years 1971 to 9998"),
        ("9999-12-31T23:59:59-14:00", "outside the years"),
        ("31.3.2026", "is no date; write 2026-03-31"),
        ("2026-W14-2", "is no date"),
        ("20260331", "is no date"),
        ("tomorrow", "is no date"),
        ("", "is no date"),
    ],
)
def test_other_dates_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        parse_instant(text)


@pytest.mark.parametrize(("value", "edition"), [(1, "1"), ("1", "1"), ("1.7", "1.7"), (1.2, "1.2")])
def test_a_known_edition_of_the_form_is_read(value: object, edition: str) -> None:
    assert parse_schema_version(value) == edition


@pytest.mark.parametrize("value", [2, "2", "2.0", "1.", "one", True, None, [], 10])
def test_another_major_edition_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="an edition that is not known here; known is 1"):
        parse_schema_version(value)
