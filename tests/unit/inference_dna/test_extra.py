import pytest

from inference_dna.canonical import Refused
from inference_dna.extra import needing


def test_a_missing_package_is_told_with_the_extra_that_brings_it() -> None:
    with pytest.raises(Refused, match=r"package torch; install dna-gateway\[models\]"), needing("torch", "models"):
        import no_such_package  # type: ignore[import-not-found]  # noqa: F401 - it is not there


def test_what_is_there_is_imported() -> None:
    with needing("json", "none"):
        import json

    assert json.dumps({}) == "{}"
