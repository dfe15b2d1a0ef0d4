"""What the gateway would make of changed documents, said before they are written."""

from __future__ import annotations

from gateway.edits.check import check
from gateway.edits.place import Change, Held, Holding
from gateway.sources.reading import DocumentFault
from tests.support.control import contract, route


def holding(**texts: str) -> Holding:
    """Documents by version; `route` is the route."""
    keys = {name: "routes/m" if name == "route" else f"contracts/m/{name.replace('_', '.')}" for name in texts}
    return Holding({keys[name]: Held(keys[name], text.encode(), keys[name], "1") for name, text in texts.items()})


def change(version: str, text: str | None) -> Change:
    key = "routes/m" if version == "route" else f"contracts/m/{version}"
    return Change(key, None, None if text is None else text.encode())


def told(found: object) -> list[str]:
    return [f"{one.key} {one.fault}" for one in found]  # type: ignore[attr-defined]


def test_a_good_change() -> None:
    checked = check(holding(v1_0_0=contract("v1.0.0")), [change("v1.1.0", contract("v1.1.0"))], ())

    assert not checked.refused
    assert [str(key) for key in checked.after.contracts] == ["contracts/m/v1.0.0", "contracts/m/v1.1.0"]
    assert [str(key) for key in checked.before.contracts] == ["contracts/m/v1.0.0"]


def test_a_broken_document_is_refused_with_its_path() -> None:
    checked = check(holding(), [change("v1.0.0", contract("v1.0.0", retries=7))], ())

    assert told(checked.refused) == ["contracts/m/v1.0.0 /retries: 7 is too large; it may be at most 1."]


def test_a_document_under_another_key_is_refused() -> None:
    checked = check(holding(), [change("v1.1.0", contract("v1.0.0"))], ())

    assert "does not agree with the key" in told(checked.refused)[0]


def test_a_tie_with_a_document_that_lies_there_is_refused() -> None:
    checked = check(holding(v1_0_0=contract("v1.0.0")), [change("v1.0.0+b", contract("v1.0.0+b"))], ())

    assert told(checked.refused)[0].startswith("contracts/m/v1.0.0+b ")


def test_old_trouble_is_no_reason_to_refuse_something_else() -> None:
    there = holding(v1_0_0="{")
    odd = Holding(there.documents, {"contracts/m/v0.9.0": DocumentFault("two", "more than one key")})

    assert not check(odd, [change("v1.1.0", contract("v1.1.0"))], ()).refused


def test_old_trouble_may_be_mended() -> None:
    assert not check(holding(v1_0_0="{"), [change("v1.0.0", contract("v1.0.0"))], ()).refused


def test_what_is_odd_is_told_of_changed_documents_alone() -> None:
    there = holding(v1_0_0=contract("v1.0.0", accepts=""), v1_1_0=contract("v1.1.0"))

    warnings = told(check(there, [change("route", route(default="^7"))], ()).warnings)

    assert warnings == ["routes/m /default: no contract is of a version that this selects."]


def test_deleting_most_documents_is_told() -> None:
    there = holding(v1_0_0=contract("v1.0.0"), v1_1_0=contract("v1.1.0"), v1_2_0=contract("v1.2.0"))

    one = check(there, [change("v1.0.0", None)], ())
    most = check(there, [change("v1.0.0", None), change("v1.1.0", None)], ())

    assert [str(key) for key in one.after.contracts] == ["contracts/m/v1.1.0", "contracts/m/v1.2.0"]
    assert not one.warnings
    assert len(most.after.contracts) == 3
    assert all("dna contract prune --confirm" in each for each in told(most.warnings))
