import pytest

from contracts.key import DocumentKey, KeyRefused, parse_key, parse_model_id
from contracts.version import Version


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("contracts/m/v2.4.0", DocumentKey("contract", "m", Version(2, 4, 0))),
        ("contracts/org/m/v2.4.0", DocumentKey("contract", "org/m", Version(2, 4, 0))),
        ("contracts/meta-llama/Llama-3-8B/2.4.0", DocumentKey("contract", "meta-llama/Llama-3-8B", Version(2, 4, 0))),
        ("contracts/m/v2.3.9+hotfix-1", DocumentKey("contract", "m", Version(2, 3, 9, build=("hotfix-1",)))),
        ("contracts/m/v1.0.0/v2.0.0", DocumentKey("contract", "m/v1.0.0", Version(2, 0, 0))),
        ("routes/m", DocumentKey("route", "m")),
        ("routes/org/m", DocumentKey("route", "org/m")),
    ],
)
def test_keys_are_read(text: str, key: DocumentKey) -> None:
    assert parse_key(text) == key
    assert parse_key(str(key)) == key


def test_a_key_is_printed_with_v() -> None:
    assert str(parse_key("contracts/org/m/2.4.0")) == "contracts/org/m/v2.4.0"
    assert str(parse_key("routes/org/m")) == "routes/org/m"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "begins with neither"),
        ("notes/m", "begins with neither"),
        ("contract/m/v1.0.0", "begins with neither"),
        ("/contracts/m/v1.0.0", "begins with neither"),
        ("contracts", "no model id|does not end in a version"),
        ("contracts/m", "no model id|does not end in a version"),
        ("contracts/m/v1.0", "does not end in a version"),
        ("contracts/m/v1.0.0.json", "does not end in a version"),
        ("contracts//v1.0.0", "is no model id"),
        ("contracts/../v1.0.0", "is no model id"),
        ("routes", "is no model id"),
        ("routes/", "is no model id"),
    ],
)
def test_other_texts_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(KeyRefused, match=sentence):
        parse_key(text)


@pytest.mark.parametrize("text", ["m", "bert-base-chinese", "org/m", "a.b_c-d", "llama3:8b", "_x", "0/1"])
def test_model_ids(text: str) -> None:
    assert parse_model_id(text) == text


@pytest.mark.parametrize(
    "text", ["", "a b", "a@^1", "/m", "m/", "a//b", "../m", ".m", "a/.b", "模型", "a\n", "a%2Fb", "m" * 201]
)
def test_texts_that_cannot_name_a_model(text: str) -> None:
    with pytest.raises(KeyRefused, match="no model id"):
        parse_model_id(text)
