from __future__ import annotations

import pytest

from inference_dna.canonical import Refused
from inference_dna.version_text import version_text


@pytest.mark.parametrize("version", ["2.4.0", "v2.4.0", "v2.4.0-rc.1+hotfix-20240511"])
def test_a_version_is_written_with_its_letter(version: str) -> None:
    assert version_text(version) == "v" + version.removeprefix("v")


@pytest.mark.parametrize("version", ["", "v", "latest", "../v1", "v1/0", "v1 0", "1.0\n"])
def test_what_cannot_be_one_is_refused(version: str) -> None:
    with pytest.raises(Refused, match="is no version"):
        version_text(version)
