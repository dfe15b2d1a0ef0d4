import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.selector import (
    CACHED_SELECTORS,
    Alias,
    Exact,
    Range,
    SelectorError,
    cached_selector,
    parse_selector,
)
from contracts.version import Version

_RELEASES = st.builds(Version, st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
_WORDS = st.sampled_from(["0", "1", "10", "alpha", "rc", "x", "-"])
_VERSIONS = st.builds(
    Version,
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 3),
    st.lists(_WORDS, max_size=2).map(tuple),
    st.sampled_from([(), ("cu12",)]),
)


def range_of(text: str) -> Range:
    selector = parse_selector(text)
    assert isinstance(selector, Range), selector
    return selector


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.2.3", "v1.2.3"),
        ("v1.2.3", "v1.2.3"),
        ("=1.2.3", "v1.2.3"),
        ("=v1.2.3", "v1.2.3"),
        ("= 1.2.3", "v1.2.3"),
        (" 1.2.3 ", "v1.2.3"),
        ("1.2.3-rc.1", "v1.2.3-rc.1"),
        ("=1.2.3+cu12", "v1.2.3+cu12"),
        ("v1.2.3-rc.1+cu12", "v1.2.3-rc.1+cu12"),
        ("1.2.3-1.4", "v1.2.3-1.4"),
    ],
)
def test_a_full_version_is_exact(text: str, version: str) -> None:
    assert parse_selector(text) == Exact(text, Version.parse(version))


def test_two_spellings_are_one_selector_and_each_keeps_its_text() -> None:
    first, second = parse_selector("v2.4.0"), parse_selector("=2.4.0")

    assert first == second
    assert (first.text, second.text) == ("v2.4.0", "=2.4.0")
    assert range_of("^v1.2") == range_of("^1.2")
    assert parse_selector("2.4.0") != parse_selector("2.4.0+cu12")


@pytest.mark.parametrize("text", ["latest", "stable", "v", "vnext", "a", "A.b_c-1", "xylophone", "X1", "vx"])
def test_a_word_is_an_alias(text: str) -> None:
    assert parse_selector(text) == Alias(text, text)


@pytest.mark.parametrize(
    ("selector", "version", "matches"),
    [
        # routing.md section 2, the table of pre-releases
        ("^1.2.3", "v1.3.0-alpha", False),
        ("~1.2", "v1.2.3-rc.1", False),
        ("*", "v1.2.3-rc.1", False),
        ("^1.0.0", "v2.0.0-0", False),
        ("^0.2.3", "v0.3.0", False),
        ("^2.4", "v2.5.0-rc1", False),
        (">=1.2.0-rc.1", "v1.2.0-rc.2", True),
        (">=1.2.0-rc.1", "v1.3.0-rc.2", False),
        ("^1.2.3-rc.1", "v1.2.3-rc.2", True),
        ("<2.0.0", "v2.0.0-0", False),
        ("^0.0.3", "v0.0.4", False),
        (">1.2", "v1.2.5", False),
        ("^2.3", "v2.3.9+hotfix-20240511", True),
        # routing.md V12
        ("^0.0.3", "v0.0.3-alpha", False),
        ("~1.2", "v1.2.3+cu12", True),
        # the grammar
        ("1.x", "v1.9.9", True),
        ("1.x", "v2.0.0", False),
        ("1", "v1.0.0", True),
        ("v1", "v1.9.0", True),
        ("1.2", "v1.2.9", True),
        ("1.2", "v1.3.0", False),
        ("1.2.x", "v1.2.0", True),
        ("1.2.*", "v1.3.0", False),
        ("x", "v7.0.0", True),
        ("X.x", "v7.0.0", True),
        ("*", "v0.0.0", True),
        ("=1.2", "v1.2.7", True),
        ("1.2.3 - 1.4", "v1.4.9", True),
        ("1.2.3 - 1.4", "v1.5.0", False),
        ("1.2.3 - 1.4", "v1.2.2", False),
        ("1.2.3  -  1.4", "v1.3.0", True),
        ("v1.2.3 - v1.4.0", "v1.4.1", False),
        ("^1 || ^3", "v3.2.0", True),
        ("^1||^3", "v2.0.0", False),
        ("^v1||^v3", "v1.0.0", True),
        (">=1.2 <2", "v1.9.0", True),
        (">=1.2 <2", "v2.0.0", False),
        (">=v1.2   <v2", "v1.2.0", True),
        (">= 1.2 < 2", "v1.1.9", False),
        ("> 1.2.3", "v1.2.3", False),
        ("<=1.2", "v1.2.9", True),
        ("<=1.2", "v1.3.0", False),
        ("<1.2", "v1.2.0", False),
        ("~1.2.3", "v1.2.9", True),
        ("~1.2.3", "v1.3.0", False),
        ("~>1.2.3", "v1.2.3", True),
        ("~1", "v1.9.0", True),
        ("^1.2", "v1.1.9", False),
        ("^0", "v0.9.9", True),
        ("^0.0", "v0.0.9", True),
        ("^0.0", "v0.1.0", False),
        # where semantic-version by itself is wrong
        ("<=1.4.0-rc.2", "v1.4.0", False),
        ("<=1.4.0-rc.2", "v1.4.0-rc.1", True),
        ("~1.2.0-rc.1", "v1.2.0", True),
        ("~1.2.0-rc.1", "v1.2.5", True),
        ("~1.2.0-rc.1", "v1.3.0", False),
        ("1.2.3-rc.1 - 1.4.0-rc.2", "v1.4.0-rc.1", True),
        ("1.2.3-rc.1 - 1.4.0-rc.2", "v1.2.3-rc.2", True),
        ("1.2.3-rc.1 - 1.4.0-rc.2", "v1.3.0-rc.1", False),
        ("1.2.3-rc.1 || ^2", "v1.2.3", False),
        ("1.2.3-rc.1 || ^2", "v1.2.3-rc.1", True),
        (">=1.2.3-rc.1 <1.2.3", "v1.2.3-rc.9", True),
        (">=1.2.3-rc.1 <1.2.3", "v1.2.3", False),
        # a bound nobody wrote shuts out the pre-releases of its number, whoever names that number
        ("^1.2.3 >=2.0.0-rc.1", "v2.0.0-rc.1", False),
        # a pre-release counts for its own side of || only
        ("1.2.3-rc.1 || *", "v1.2.3-rc.2", False),
        # a build named inside a range is that build
        ("1.2.3+cu12 || ^2", "v1.2.3+cu12", True),
        ("1.2.3+cu12 || ^2", "v1.2.3", False),
        ("1.2.3 || ^2", "v1.2.3+cu12", True),
        (">=1.2.3+cu12", "v1.2.3", True),
        ("^1.2.3+cu12", "v1.2.3+cu11", True),
    ],
)
def test_what_a_range_matches(selector: str, version: str, matches: bool) -> None:
    assert range_of(selector).matches(Version.parse(version)) is matches


def test_an_exact_selector_is_never_a_range_so_a_build_is_another_version() -> None:
    selector = parse_selector("1.2.3")

    assert isinstance(selector, Exact)
    assert selector.version != Version.parse("v1.2.3+cu12")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("", "is empty", id="empty"),
        pytest.param("   ", "is empty", id="blank"),
        pytest.param("1" * 257, "longer than 256", id="endless"),
        pytest.param("1.2\t", "printable ASCII", id="tab"),
        pytest.param("1.2\r\n3", "printable ASCII", id="line-end"),
        pytest.param("1.2\x00", "printable ASCII", id="nul"),
        pytest.param("1.2\x7f", "printable ASCII", id="delete"),
        pytest.param("é", "printable ASCII", id="accent"),
        pytest.param("１.２", "printable ASCII", id="wide-digits"),
        pytest.param("^1 ||", "neither a version", id="empty-side-would-be-everything"),
        pytest.param("|| ^1", "neither a version", id="empty-first-side"),
        pytest.param("||", "neither a version", id="two-empty-sides"),
        pytest.param("^", "neither a version", id="operator-alone"),
        pytest.param("^^1", "neither a version", id="two-operators"),
        pytest.param("==1.2.3", "neither a version", id="doubled-equals"),
        pytest.param("!=1.2.3", "neither a version", id="not"),
        pytest.param("^1,^2", "neither a version", id="comma"),
        pytest.param("1.2.3.4", "neither a version", id="four-numbers"),
        pytest.param("01.2", "neither a version", id="leading-zero-in-a-range"),
        pytest.param("01.2.3", "must not begin with 0", id="leading-zero-in-a-version"),
        pytest.param("^1.2.3-01", "must not begin with 0", id="leading-zero-in-a-pre-release"),
        pytest.param("1.2.3-", "no version", id="empty-pre-release"),
        pytest.param("1.2.3+", "no version", id="empty-build"),
        pytest.param(">=1.2-rc.1", "three numbers|no version", id="pre-release-of-a-partial-number"),
        pytest.param("^*", "neither a version", id="caret-of-everything"),
        pytest.param("<*", "neither a version", id="below-everything"),
        pytest.param("latest || ^1", "neither a version", id="alias-inside-a-range"),
        pytest.param("my alias", "neither a version", id="two-words"),
        pytest.param("^1 - 2", "neither a version", id="operator-inside-a-hyphen-range"),
        pytest.param("1 - 2 - 3", "neither a version", id="two-hyphens"),
        pytest.param("1.2 -1.4", "neither a version", id="half-a-hyphen-range"),
        pytest.param("v1-beta", "no version", id="almost-a-version"),
        pytest.param("(^1)", "neither a version", id="brackets"),
    ],
)
def test_malformed_selectors_are_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(SelectorError, match=sentence):
        parse_selector(text)


@settings(deadline=None)
@given(st.text(max_size=300) | st.text("v0123456789.xX*^~<>= |-+abr", max_size=40), _VERSIONS)
def test_no_text_breaks_the_reader_and_no_version_breaks_a_range(text: str, version: Version) -> None:
    try:
        selector = parse_selector(text)
    except SelectorError:
        return
    assert selector.text == text
    if isinstance(selector, Range):
        assert selector.matches(version) in (True, False)


@settings(deadline=None)
@given(_RELEASES, _VERSIONS)
def test_a_caret_is_everything_up_to_the_next_left_most_number(low: Version, version: Version) -> None:
    if low.major:
        high = Version(low.major + 1, 0, 0)
    elif low.minor:
        high = Version(0, low.minor + 1, 0)
    else:
        high = Version(0, 0, low.patch + 1)
    inside = low.precedence <= version.precedence < high.precedence and not version.prerelease

    assert range_of(f"^{low}").matches(version) is inside


@settings(deadline=None)
@given(_VERSIONS, _VERSIONS)
def test_a_bound_takes_a_pre_release_only_of_its_own_number(bound: Version, version: Version) -> None:
    same_number = version.precedence[:3] == bound.precedence[:3]
    allowed = not version.prerelease or (bool(bound.prerelease) and same_number)

    assert range_of(f">={bound}").matches(version) is (allowed and version.precedence >= bound.precedence)
    assert range_of(f"<{bound}").matches(version) is (allowed and version.precedence < bound.precedence)


def test_texts_seen_lately_are_read_once_and_the_cache_is_bounded() -> None:
    cached_selector.cache_clear()

    assert cached_selector("^2.4") is cached_selector("^2.4")
    assert cached_selector.cache_info().maxsize == CACHED_SELECTORS
    with pytest.raises(SelectorError):
        cached_selector("")
