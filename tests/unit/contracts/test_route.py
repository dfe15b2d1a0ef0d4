import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.faults import DocumentRefused
from contracts.key import parse_key
from contracts.route import DEFAULT_STICKY, Sticky, parse_route, parse_sticky
from contracts.selector import Alias, Exact, parse_selector
from contracts.version import Version

EXAMPLE = """
model_id: bert-base-chinese
default: "^2.4"            # never changes because a new version appeared outside it
sticky: header:X-User-Id   # or cookie:NAME, or none
aliases: {stable: v2.4.0}  # names a client may use as a selector
canary_rules:
  - version: v2.4.0
    traffic_percentage: 5
    dna_prefix: a1b2       # only instances whose DNA starts so
  - version: v2.4.1-rc1
    traffic_percentage: 0.1
    dna_prefix: c3d4
"""
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["version", "traffic_percentage", "dna_prefix", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def told(text: str, key: str | None = None) -> list[tuple[str, str]]:
    with pytest.raises(DocumentRefused) as caught:
        parse_route(text, key=parse_key(key) if key else None)
    return [(fault.path, fault.message) for fault in caught.value.faults]


def test_the_example_of_the_design_loads_as_it_stands() -> None:
    route = parse_route(EXAMPLE, key=parse_key("routes/bert-base-chinese"))

    assert route.model_id == "bert-base-chinese"
    assert route.default == parse_selector("^2.4")
    assert route.sticky == Sticky("header", "x-user-id")
    assert route.aliases == {"stable": Exact("v2.4.0", Version(2, 4, 0))}
    assert [(rule.version, rule.traffic_percentage, rule.dna_prefix) for rule in route.canary_rules] == [
        (Version(2, 4, 0), 5, "a1b2"),
        (Version(2, 4, 1, ("rc1",)), 0.1, "c3d4"),
    ]
    assert (route.salt, route.warnings) == ("", ())


def test_only_the_model_is_required() -> None:
    route = parse_route('{"model_id": "m"}')

    assert (route.default, route.aliases, route.canary_rules, route.salt) == (None, {}, (), "")
    assert route.sticky == DEFAULT_STICKY == Sticky("header", "x-user-id")


def test_what_is_written_reads_back_equal() -> None:
    route = parse_route(EXAMPLE)

    assert parse_route(route.model_dump_json(by_alias=True)) == route


def test_the_default_may_be_an_alias_of_this_route() -> None:
    route = parse_route("model_id: m\ndefault: stable\naliases: {stable: ^1, old: 0.9.x}")

    assert route.default == Alias("stable", "stable")
    assert set(route.aliases) == {"stable", "old"}


@pytest.mark.parametrize(
    ("text", "sticky", "printed"),
    [
        ("none", Sticky("none"), "none"),
        ("header:X-User-Id", Sticky("header", "x-user-id"), "header:x-user-id"),
        ("cookie:Session_ID", Sticky("cookie", "Session_ID"), "cookie:Session_ID"),
    ],
)
def test_sticky_keys(text: str, sticky: Sticky, printed: str) -> None:
    assert parse_sticky(text) == sticky
    assert str(sticky) == printed


@pytest.mark.parametrize(
    "text", ["", "header", "header:", "header:a b", "cookie:a;b", "query:x", "None", "header:é", "none:"]
)
def test_other_sticky_keys_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write header:X-User-Id, cookie:NAME or none"):
        parse_sticky(text)


@pytest.mark.parametrize(
    ("members", "path", "sentence"),
    [
        pytest.param(
            "default: 2.40",
            "/default",
            '2.40 is a number where text is meant; put it in quotes: "2.40".',
            id="default-as-a-number",
        ),
        pytest.param("default: ''", "/default", "The selector is empty", id="empty-default"),
        pytest.param("default: '>=a'", "/default", "is neither a version", id="malformed-default"),
        pytest.param(
            "default: latest",
            "/default",
            '"latest" is no alias of this route; none is defined.',
            id="default-without-alias",
        ),
        pytest.param(
            "default: latest\naliases: {stable: 1.0.0, old: ^0}",
            "/default",
            '"latest" is no alias of this route; defined are stable or old.',
            id="default-of-another-name",
        ),
        pytest.param(
            "sticky: no",
            "/sticky",
            'no is read as true or false where text is meant; put it in quotes: "no".',
            id="sticky-no",
        ),
        pytest.param("sticky: user", "/sticky", "write header:X-User-Id", id="sticky"),
        pytest.param("aliases: {v2: 2.0.0}", "/aliases/v2", '"v2" cannot name an alias', id="alias-like-a-version"),
        pytest.param(
            "aliases: {'1.2.3': 2.0.0}", "/aliases/1.2.3", '"1.2.3" cannot name an alias', id="alias-is-a-version"
        ),
        pytest.param("aliases: {x: 2.0.0}", "/aliases/x", '"x" cannot name an alias', id="alias-is-a-wildcard"),
        pytest.param("aliases: {'a b': 2.0.0}", "/aliases/a b", '"a b" cannot name an alias', id="alias-of-two-words"),
        pytest.param("aliases: {a/b: 2.0.0}", "/aliases/a~1b", '"a/b" cannot name an alias', id="alias-with-a-slash"),
        pytest.param("aliases: {a: b, b: 2.0.0}", "/aliases/a", '"b" is itself a word', id="alias-of-an-alias"),
        pytest.param(
            "aliases: {a: 2.0}",
            "/aliases/a",
            '2.0 is a number where text is meant; put it in quotes: "2.0".',
            id="alias-for-a-number",
        ),
        pytest.param("aliases: [a]", "/aliases", "must be an object", id="aliases-as-a-list"),
        pytest.param("canary_rules: {}", "/canary_rules", "must be a list", id="rules-as-an-object"),
        pytest.param("canary_rules: [5]", "/canary_rules/0", "must be an object", id="rule-of-another-kind"),
        pytest.param(
            "canary_rules: [{version: ^1, traffic_percentage: 5}]",
            "/canary_rules/0/version",
            "is no version",
            id="rule-for-a-range",
        ),
        pytest.param(
            "canary_rules: [{version: 1.0.0}]",
            "/canary_rules/0/traffic_percentage",
            "is required and missing",
            id="no-percentage",
        ),
        pytest.param(
            "canary_rules: [{version: 1.0.0, traffic_percentage: -1}]",
            "/canary_rules/0/traffic_percentage",
            "it must be at least 0",
            id="negative",
        ),
        pytest.param(
            "canary_rules: [{version: 1.0.0, traffic_percentage: 100.5}]",
            "/canary_rules/0/traffic_percentage",
            "it may be at most 100",
            id="more-than-all",
        ),
        pytest.param(
            "canary_rules: [{version: 1.0.0, traffic_percentage: 5%}]",
            "/canary_rules/0/traffic_percentage",
            '"5%" must be a number, without a unit: 5.',
            id="percent-sign",
        ),
        pytest.param(
            "canary_rules: [{version: 1.0.0, traffic_percentage: true}]",
            "/canary_rules/0/traffic_percentage",
            "must be a number",
            id="truth-value",
        ),
        pytest.param(
            "canary_rules: [{version: 1.0.0, traffic_percentage: 010}]",
            "/canary_rules/0/traffic_percentage",
            "010 is no plain decimal number",
            id="octal",
        ),
        pytest.param(
            "canary_rules: [{version: 1.0.0, traffic_percentage: 5, dna_prefix: 1234}]",
            "/canary_rules/0/dna_prefix",
            '1234 is a number where text is meant; put it in quotes: "1234".',
            id="prefix-as-a-number",
        ),
        pytest.param(
            "canary_rules: [{version: 1.0.0, traffic_percentage: 5, dna_prefix: 0777}]",
            "/canary_rules/0/dna_prefix",
            "0777 is no plain decimal number; if it is text, put it in quotes.",
            id="prefix-as-an-octal",
        ),
        pytest.param(
            "canary_rules: [{version: 1.0.0, traffic_percentage: 5, dna_prefix: A1B2}]",
            "/canary_rules/0/dna_prefix",
            "no DNA prefix",
            id="prefix-in-capitals",
        ),
        pytest.param(
            "canary_rules: [{version: 1.0.0, traffic_percentage: 5, dna_prefix: a1b2c3d4e}]",
            "/canary_rules/0/dna_prefix",
            "no DNA prefix",
            id="prefix-reaching-into-the-strand",
        ),
        pytest.param(
            "canary_rules: [{version: 1.0.0, traffic_percentage: 5, dna_prefx: a1}]",
            "/canary_rules/0/dna_prefx",
            'Did you mean "dna_prefix"?',
            id="almost-a-prefix",
        ),
        pytest.param(
            "canary_rules: [{version: 1.0.0, traffic_percentage: 60}, {version: 1.0.1, traffic_percentage: 40.1}]",
            "/canary_rules",
            "the percentages add up to 100.1; 100 is all there is.",
            id="too-much-in-sum",
        ),
        pytest.param(
            "canary_rules: [{version: 1.0.0, traffic_percentage: 5}, {version: v1.0.0, traffic_percentage: 6}]",
            "/canary_rules/1",
            "says the same as /canary_rules/0",
            id="the-same-rule-twice",
        ),
        pytest.param("salt: 5", "/salt", 'put it in quotes: "5"', id="salt-as-a-number"),
        pytest.param("schema: 2", "/schema", "an edition that is not known here", id="edition"),
    ],
)
def test_one_fault_one_sentence(members: str, path: str, sentence: str) -> None:
    [(where, message)] = told(f"model_id: m\n{members}")

    assert where == path
    assert sentence in message


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param([("1.0.0", 5, "a1"), ("1.0.0", 5, "b2")], id="one-version-on-two-stacks"),
        pytest.param([("1.0.0", 33.3, None), ("1.0.1", 33.3, None), ("1.0.2", 33.4, None)], id="a-hundred-as-written"),
        pytest.param([("1.0.0", 0, None), ("1.0.1", 100, None)], id="none-and-all"),
        pytest.param([("1.0.0", 0.01, "1234")], id="a-hundredth-of-a-percent"),
    ],
)
def test_neighbours_of_faults_are_accepted(rules: list[tuple[str, float, str | None]]) -> None:
    names = ("version", "traffic_percentage", "dna_prefix")
    document = {"model_id": "m", "canary_rules": [dict(zip(names, rule, strict=True)) for rule in rules]}

    route = parse_route(json.dumps(document))

    assert [(str(rule.version)[1:], rule.traffic_percentage, rule.dna_prefix) for rule in route.canary_rules] == rules
    assert route.warnings == ()


def test_key_and_document_must_agree() -> None:
    assert told("model_id: m", "routes/org/m") == [
        ("/model_id", '"m" does not agree with the key routes/org/m; change one of the two.')
    ]
    assert told("model_id: m", "contracts/m/v1.0.0") == [
        ("", "the document is read as a route, but stands under contracts/m/v1.0.0.")
    ]


def test_faults_are_told_at_once_with_the_name_of_the_document() -> None:
    with pytest.raises(DocumentRefused) as caught:
        parse_route("sticky: x\ndefault: latest\nowner: us", name="m.yaml")

    assert str(caught.value).splitlines() == [
        'm.yaml: /default: "latest" is no alias of this route; none is defined.',
        "m.yaml: /model_id: is required and missing.",
        'm.yaml: /sticky: "x" names no key; write header:X-User-Id, cookie:NAME or none.',
        "m.yaml: /owner: is unknown and has no effect.",
    ]


def test_unknown_members_are_kept_out_and_warned_about() -> None:
    assert [str(fault) for fault in parse_route("model_id: m\nowner: us").warnings] == [
        "/owner: is unknown and has no effect."
    ]


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["default", "sticky", "aliases", "canary_rules", "salt", "schema"]), _JSON))
def test_no_document_breaks_the_reader(members: dict[str, Any]) -> None:
    try:
        outcome: object = parse_route(json.dumps({"model_id": "m", **members}))
    except DocumentRefused as refused:
        outcome = [fault for fault in refused.faults if fault.severity == "error"]
    assert outcome
