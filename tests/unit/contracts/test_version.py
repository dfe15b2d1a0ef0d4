from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.version import Version, VersionError

_WORDS = st.from_regex(r"(?:0|[1-9][0-9]{0,5}|[0-9]{0,3}[A-Za-z-][0-9A-Za-z-]{0,5})", fullmatch=True)
_NUMBERS = st.integers(0, 10**9)
VERSIONS = st.builds(
    Version,
    _NUMBERS,
    _NUMBERS,
    _NUMBERS,
    st.lists(_WORDS, max_size=3).map(tuple),
    st.lists(st.from_regex(r"[0-9A-Za-z-]{1,5}", fullmatch=True), max_size=2).map(tuple),
)


@pytest.mark.parametrize(
    ("text", "parts", "printed"),
    [
        pytest.param("1.2.3", (1, 2, 3, (), ()), "v1.2.3", id="without-v"),
        pytest.param("v1.2.3", (1, 2, 3, (), ()), "v1.2.3", id="with-v"),
        pytest.param("0.0.0", (0, 0, 0, (), ()), "v0.0.0", id="zeros"),
        pytest.param("v1.2.3-rc.1", (1, 2, 3, ("rc", "1"), ()), "v1.2.3-rc.1", id="pre-release"),
        pytest.param("1.2.3-0", (1, 2, 3, ("0",), ()), "v1.2.3-0", id="zero-as-pre-release"),
        pytest.param("1.2.3-0a.-", (1, 2, 3, ("0a", "-"), ()), "v1.2.3-0a.-", id="odd-words"),
        pytest.param("1.2.3-v2", (1, 2, 3, ("v2",), ()), "v1.2.3-v2", id="a-v-inside-stays"),
        pytest.param("1.2.3+001", (1, 2, 3, (), ("001",)), "v1.2.3+001", id="build-may-begin-with-zero"),
        pytest.param(
            "v2.3.9+hotfix-20240511", (2, 3, 9, (), ("hotfix-20240511",)), "v2.3.9+hotfix-20240511", id="build"
        ),
        pytest.param("1.2.3-rc.1+cu12.1", (1, 2, 3, ("rc", "1"), ("cu12", "1")), "v1.2.3-rc.1+cu12.1", id="both"),
        pytest.param("1.2.3--", (1, 2, 3, ("-",), ()), "v1.2.3--", id="a-dash-is-a-word"),
    ],
)
def test_a_version_is_read_and_printed(text: str, parts: tuple[object, ...], printed: str) -> None:
    version = Version.parse(text)

    assert (version.major, version.minor, version.patch, version.prerelease, version.build) == parts
    assert str(version) == printed
    assert Version.parse(printed) == version


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("1.2", "three numbers are needed", id="two-numbers"),
        pytest.param("v1", "three numbers are needed", id="one-number"),
        pytest.param("01.2.3", "must not begin with 0", id="leading-zero"),
        pytest.param("1.02.3", "must not begin with 0", id="leading-zero-in-the-middle"),
        pytest.param("1.2.3-01", "must not begin with 0", id="leading-zero-in-pre-release"),
        pytest.param("1.2.3-", "write three numbers", id="empty-pre-release"),
        pytest.param("1.2.3+", "write three numbers", id="empty-build"),
        pytest.param("1.2.3-a..b", "write three numbers", id="empty-word"),
        pytest.param("1.2.3+a+b", "write three numbers", id="two-builds"),
        pytest.param("1.2.3.4", "write three numbers", id="four-numbers"),
        pytest.param("vv1.2.3", "write three numbers", id="two-vs"),
        pytest.param("V1.2.3", "write three numbers", id="capital-v"),
        pytest.param("=1.2.3", "write three numbers", id="operator"),
        pytest.param(" 1.2.3", "write three numbers", id="space"),
        pytest.param("1.2.3\n", "write three numbers", id="line-feed-at-the-end"),
        pytest.param("1.2.٣", "write three numbers", id="digits-of-another-script"),
        pytest.param("1.2.x", "write three numbers", id="wildcard"),
        pytest.param("", "write three numbers", id="empty"),
        pytest.param("latest", "write three numbers", id="word"),
        pytest.param("1.2." + "3" * 300, "longer than 256", id="endless"),
    ],
)
def test_anything_else_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(VersionError, match=sentence):
        Version.parse(text)


def test_precedence_follows_semver_and_compares_numbers_by_value() -> None:
    ascending = [
        "0.9.9",
        "1.0.0-0",
        "1.0.0-2",
        "1.0.0-10",
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta",
        "1.0.0-beta.2",
        "1.0.0-beta.11",
        "1.0.0-rc.1",
        "1.0.0-rc.9",
        "1.0.0-rc.10",
        "1.0.0-rc.10.0",
        "1.0.0-rc1",
        "1.0.0-rc10",
        "1.0.0-rc2",
        "1.0.0",
        "1.0.1-0",
        "1.0.1",
        "1.2.0",
        "1.10.0",
        "2.0.0-0",
        "2.0.0",
    ]

    for lower, higher in pairwise(ascending):
        assert Version.parse(lower).precedence < Version.parse(higher).precedence, (lower, higher)


def test_build_metadata_makes_another_version_of_the_same_precedence() -> None:
    plain, build = Version.parse("v2.3.9"), Version.parse("v2.3.9+hotfix-20240511")

    assert plain != build
    assert plain.precedence == build.precedence
    assert {plain, build, Version.parse("2.3.9")} == {plain, build}


@settings(deadline=None)
@given(VERSIONS)
def test_what_is_printed_reads_back_equal(version: Version) -> None:
    assert Version.parse(str(version)) == version


@settings(deadline=None)
@given(st.text())
def test_no_text_ends_in_anything_but_a_version_or_the_error(text: str) -> None:
    try:
        version = Version.parse(text)
    except VersionError:
        return
    assert str(version).removeprefix("v") == text.removeprefix("v")
