"""Which requests another version would answer after a change."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.control.assemble import assemble
from gateway.control.documents import NO_DOCUMENTS, Documents
from gateway.edits.traffic import Moved, MovedRanges, Shares, Traffic, traffic
from tests.support.control import MODEL, contract, reading, route


def documents(*versions: str, default: str | None = "v1.0.0", rules: Any = (), **extra: str) -> Documents:
    """Contracts of these versions, `v1.0.0` or `v1.0.0=retired`, and a route."""
    texts = {}
    for each in versions:
        version, _, status = each.partition("=")
        texts[f"contracts/m/{version}"] = contract(version, "http://10.0.0.7:9000", status=status or "active")
    if default is not None:
        listed = [dict(zip(("version", "traffic_percentage", "dna_prefix"), rule, strict=False)) for rule in rules]
        texts["routes/m"] = route(default=default, canary_rules=listed)
    return assemble(NO_DOCUMENTS, reading(texts | {key.replace("__", "/"): text for key, text in extra.items()}))


def moved(found: Traffic, asked: str = "no version") -> list[tuple[float, str, str]]:
    return [(one.share, one.before, one.after) for one in found.moved if one.asked == asked]


def test_nothing_moves_where_nothing_changed() -> None:
    same = documents("v1.0.0")

    assert traffic(same, same) == Traffic((), (), ())


def test_a_canary_takes_its_share_of_the_default() -> None:
    before = documents("v1.0.0", "v2.0.0", rules=[("v2.0.0", 5)])
    after = documents("v1.0.0", "v2.0.0", rules=[("v2.0.0", 25)])

    found = traffic(before, after)

    assert found.moved == (Moved(MODEL, "no version", 0.2, "v1.0.0", "v2.0.0"),)
    assert found.shares == (Shares(MODEL, {"v2.0.0": 0.05, "v1.0.0": 0.95}, {"v2.0.0": 0.25, "v1.0.0": 0.75}),)


def test_equal_shares_can_hide_users_that_move() -> None:
    before = documents("v1.0.0", "v2.0.0", "v3.0.0", rules=[("v2.0.0", 10), ("v3.0.0", 10)])
    after = documents("v1.0.0", "v2.0.0", "v3.0.0", rules=[("v3.0.0", 10), ("v2.0.0", 10)])

    found = traffic(before, after)

    assert found.shares[0].before == found.shares[0].after
    assert sorted(moved(found)) == [(0.1, "v2.0.0", "v3.0.0"), (0.1, "v3.0.0", "v2.0.0")]


@pytest.mark.parametrize("fields", [{"salt": "new"}, {"sticky": "none"}, {"sticky": "cookie:user"}])
def test_another_key_or_salt_deals_every_user_anew(fields: dict[str, Any]) -> None:
    rules = [{"version": "v2.0.0", "traffic_percentage": 25}]

    def routed(**fields: Any) -> Documents:
        text = route(default="v1.0.0", canary_rules=rules, **fields)
        return documents("v1.0.0", "v2.0.0", default=None, routes__m=text)

    found = traffic(routed(), routed(**fields))

    assert found.shares[0].dealt_anew
    assert found.shares[0].before == found.shares[0].after == {"v1.0.0": 0.75, "v2.0.0": 0.25}
    assert sorted(moved(found)) == [(0.1875, "v1.0.0", "v2.0.0"), (0.1875, "v2.0.0", "v1.0.0")]


def test_without_rules_nobody_is_dealt_anew() -> None:
    def routed(**fields: Any) -> Documents:
        return documents("v1.0.0", default=None, routes__m=route(default="v1.0.0", **fields))

    found = traffic(routed(), routed(salt="new"))

    assert not found.shares[0].dealt_anew
    assert found.moved == ()


def test_a_canary_without_a_contract_that_serves_gives_its_share_back() -> None:
    rules = [("v2.0.0", 25)]
    before = documents("v1.0.0", rules=rules)
    for after in (
        documents("v1.0.0", "v2.0.0=draining", rules=rules),
        documents("v1.0.0", "v2.0.0=retired", rules=rules),
    ):
        assert moved(traffic(before, after)) == []
    assert moved(traffic(before, documents("v1.0.0", "v2.0.0", rules=rules))) == [(0.25, "v1.0.0", "v2.0.0")]


def test_a_prefix_that_no_accepted_dna_has_gives_the_share_back() -> None:
    before = documents("v1.0.0", "v2.0.0")

    fits = traffic(before, documents("v1.0.0", "v2.0.0", rules=[("v2.0.0", 25, "aaaa")]))
    misfits = traffic(before, documents("v1.0.0", "v2.0.0", rules=[("v2.0.0", 25, "bbbb")]))

    assert moved(fits) == [(0.25, "v1.0.0", "v2.0.0")]
    assert moved(misfits) == []


def test_a_range_follows_the_highest_version() -> None:
    found = traffic(documents("v1.0.0", default="^1"), documents("v1.0.0", "v1.1.0", default="^1"))

    assert moved(found) == [(1.0, "v1.0.0", "v1.1.0")]
    assert moved(found, "v1.1.0") == [(1.0, "404 version_not_found", "v1.1.0")]


@pytest.mark.parametrize(
    ("after", "becomes"),
    [
        pytest.param(documents("v1.0.0=draining"), "503 from v1.0.0", id="draining"),
        pytest.param(documents("v1.0.0=retired"), "410 version_retired", id="retired"),
        pytest.param(documents("v2.0.0"), "404 version_not_found", id="deleted"),
    ],
)
def test_a_version_leaves(after: Documents, becomes: str) -> None:
    found = traffic(documents("v1.0.0"), after)

    assert moved(found) == [(1.0, "v1.0.0", becomes)]
    assert moved(found, "v1.0.0") == [(1.0, "v1.0.0", becomes)]


def test_a_range_and_a_version_without_an_instance_are_told_alike() -> None:
    found = traffic(documents("v1.0.0", default="^1"), documents("v1.0.0=draining", default="^1"))

    assert moved(found) == moved(found, "v1.0.0") == [(1.0, "v1.0.0", "503 from v1.0.0")]


def test_the_first_and_the_last_documents_of_a_model() -> None:
    found = traffic(NO_DOCUMENTS, documents("v1.0.0"))

    assert moved(found) == [(1.0, "503 not_configured", "v1.0.0")]
    assert moved(traffic(documents("v1.0.0"), NO_DOCUMENTS)) == [(1.0, "v1.0.0", "503 not_configured")]


def test_an_alias_moves_those_who_name_it() -> None:
    def aliased(target: str) -> Documents:
        text = route(default="v1.0.0", aliases={"stable": target})
        return documents("v1.0.0", "v2.0.0", default=None, routes__m=text)

    found = traffic(aliased("v1.0.0"), aliased("v2.0.0"))

    assert found.moved == (Moved(MODEL, "stable", 1.0, "v1.0.0", "v2.0.0"),)


@pytest.mark.parametrize(
    ("fields", "serves"),
    [
        pytest.param({"dna": []}, False, id="accepts-nothing"),
        pytest.param({"dna": [], "enforcement": "observe"}, True, id="only-observes"),
        pytest.param({"instances": []}, False, id="no-instances"),
        pytest.param({"instances": [], "service": "bert"}, True, id="a-service"),
        pytest.param({"draining": ["10.0.0.7:9000"]}, False, id="its-only-instance-is-drained"),
        pytest.param({"draining": ["10.0.0.8:9000"]}, True, id="another-instance-is-drained"),
    ],
)
def test_which_contracts_serve(fields: dict[str, Any], serves: bool) -> None:
    text = contract("v1.0.0", **{"instances": ["http://10.0.0.7:9000"], **fields})
    found = traffic(NO_DOCUMENTS, assemble(NO_DOCUMENTS, reading({"contracts/m/v1.0.0": text})))

    assert moved(found) == [(1.0, "503 not_configured", "v1.0.0" if serves else "503 from v1.0.0")]


ONES = ("v1.0.0", "v1.1.0", "v2.0.0")


@pytest.mark.parametrize(
    ("after", "ranges"),
    [
        pytest.param(ONES, [], id="nothing-changed"),
        pytest.param(
            (*ONES, "v1.2.0"),
            [("^1", "^1.1", "v1.1.0", "v1.2.0"), ("^1.2", "404 version_not_found", "v1.2.0")],
            id="a-version-comes",
        ),
        pytest.param(
            (*ONES, "v2.1.0"),
            [
                ("^2", "*", ">=1.1.0", "v2.0.0", "v2.1.0"),
                ("^2.1", "404 version_not_found", "v2.1.0"),
            ],
            id="the-highest-comes",
        ),
        pytest.param(
            (*ONES, "v2.1.0-rc.1"),
            [
                ("^2.1.0-rc.1", "404 version_not_found", "v2.1.0-rc.1"),
                ("<=2.1.0-rc.1", "v2.0.0", "v2.1.0-rc.1"),
            ],
            id="a-pre-release-answers-only-those-who-name-it",
        ),
        pytest.param(
            ("v1.0.0", "v1.1.0=draining", "v2.0.0"),
            [("^1", "v1.1.0", "v1.0.0"), ("^1.1", "v1.1.0", "503 from v1.1.0")],
            id="a-version-drains",
        ),
        pytest.param(
            ("v1.0.0", "v1.1.0", "v2.0.0=retired"),
            [("^2", "v2.0.0", "404 version_not_found"), ("*", ">=1.1.0", "v2.0.0", "v1.1.0")],
            id="the-highest-retires",
        ),
        pytest.param(
            ("v1.1.0", "v2.0.0"), [("~1.0", "v1.0.0", "404 version_not_found")], id="the-lowest-was-nobodys-highest"
        ),
    ],
)
def test_ranges_that_move_are_told_by_where_they_move(after: tuple[str, ...], ranges: list[tuple[str, ...]]) -> None:
    found = traffic(documents(*ONES), documents(*after))

    assert found.ranges == tuple(MovedRanges(MODEL, tuple(texts), was, is_) for *texts, was, is_ in ranges)


def test_an_alias_for_a_range_moves_with_it() -> None:
    text = route(default="v1.0.0", aliases={"latest": "^1"})
    before, after = (
        documents(*versions, default=None, routes__m=text) for versions in (("v1.0.0",), ("v1.0.0", "v1.1.0"))
    )

    assert moved(traffic(before, after), "latest") == [(1.0, "v1.0.0", "v1.1.0")]
