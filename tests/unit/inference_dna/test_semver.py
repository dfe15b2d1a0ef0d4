import pytest

from inference_dna.semver import read_version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v2.4.0", "v2.4.0"),
        ("2.4.0", "v2.4.0"),
        ("2.4.1-rc.1", "v2.4.1-rc.1"),
        ("v2.3.9+hotfix-20240511", "v2.3.9+hotfix-20240511"),
        ("v2.4", None),
        ("02.4.0", None),
        ("vv2.4.0", None),
        ("latest", None),
        ("", None),
        ("v2.4.0\n", None),
        ("v2.4.٠", None),
    ],
)
def test_versions(text: str, version: str | None) -> None:
    assert read_version(text) == version
