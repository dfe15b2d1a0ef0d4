import pytest

from contracts.faults import DocumentRefused, Fault, Misfit, did_you_mean, listed, pointer, quoted


def test_a_fault_reads_as_place_and_sentence() -> None:
    assert str(Fault("/a/0", "must be text.")) == "/a/0: must be text."
    assert str(Fault("", "the document is empty.")) == "the document is empty."


def test_a_refusal_says_every_fault_with_the_document_in_front() -> None:
    faults = [Fault("/a", "one."), Fault("/b", "two.")]

    assert str(DocumentRefused(faults)) == "/a: one.\n/b: two."
    assert str(DocumentRefused(faults, "m.json")) == "m.json: /a: one.\nm.json: /b: two."
    assert DocumentRefused(faults, "m.json").faults == tuple(faults)


def test_a_misfit_keeps_its_faults_and_is_a_value_error() -> None:
    misfit = Misfit([Fault("/a", "one."), Fault("/b", "two.")])

    assert isinstance(misfit, ValueError)
    assert str(misfit) == "/a: one.; /b: two."


@pytest.mark.parametrize(
    ("steps", "path"),
    [([], ""), (["a", 0, "b"], "/a/0/b"), (["a/b", "c~d"], "/a~1b/c~0d"), ([""], "/")],
)
def test_pointers_are_written_as_rfc_6901_says(steps: list[str | int], path: str) -> None:
    assert pointer(steps) == path


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a", '"a"'),
        (None, "null"),
        (["x"], '["x"]'),
        ("模型", '"模型"'),
        ("a\nb", '"a\\nb"'),
        ("x" * 99, '"' + "x" * 59 + "…"),
    ],
)
def test_values_are_shown_on_one_line(value: object, shown: str) -> None:
    assert quoted(value) == shown


def test_a_slip_is_answered_with_the_word_that_was_meant() -> None:
    assert did_you_mean("statsu", ["status", "version"]) == ' Did you mean "status"?'
    assert did_you_mean("colour", ["status", "version"]) == ""
    assert did_you_mean("status" * 50_000, ["status" * 50_000]) == ""


@pytest.mark.parametrize(("words", "text"), [(["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")])
def test_words_are_listed_from_any_iterable(words: list[str], text: str) -> None:
    assert listed(words) == text
    assert listed(iter(words)) == text
