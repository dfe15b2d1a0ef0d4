"""`dna doctor`: what is looked through, what is printed, and with which exit code."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.long import LONG

BROKEN = "def answer(model, t):\n    model.generation_config.temperature = t\n"
GOOD = "def answer(model, t):\n    return model.generate(temperature=t)\n"


def project(files: Mapping[str, str | bytes]) -> Path:
    root = Path("server")
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def test_findings_name_file_and_line_why_and_what_to_do(dna: Run) -> None:
    code, out, err = dna("doctor", project({"app/chat.py": BROKEN, "app/good.py": GOOD}))
    lines = out.splitlines()

    assert code == 3
    assert lines[0] == "app/chat.py:2: generation-config: model.generation_config.temperature is written to"
    assert lines[1].startswith("    why  All requests share it")
    assert lines[2].startswith("    do   Pass the settings to generate()")
    assert len(lines) == 3
    assert err == "2 files read, 1 finding, 0 allowed by comments\n"


def test_a_clean_project_says_nothing(dna: Run) -> None:
    assert dna("doctor", project({"good.py": GOOD}))[:2] == (0, "")


def test_json_has_the_same(dna: Run) -> None:
    allowed = BROKEN.rstrip() + "  # dna: allow generation-config the only request of a batch job\n"
    code, out, _ = dna("doctor", project({"a.py": BROKEN, "b.py": allowed, "n.ipynb": "{}"}), "-o", "json")
    document = json.loads(out)

    assert code == 3
    assert [(each["file"], each["line"], each["rule"]) for each in document["findings"]] == [
        ("a.py", 2, "generation-config")
    ]
    assert set(document["findings"][0]) == {"file", "line", "rule", "what", "why", "do"}
    assert [(each["file"], each["reason"]) for each in document["allowed"]] == [
        ("b.py", "the only request of a batch job")
    ]
    assert [each["file"] for each in document["skipped"]] == ["n.ipynb"]
    assert document["files"] == 2


def test_other_peoples_code_and_tests_are_left_out(dna: Run) -> None:
    places = (
        ".venv/x.py", "venv/x.py", "mine/x.py", "tests/x.py", "test_x.py", "x_test.py", "conftest.py", "build/x.py",
        "node_modules/x.py", "lib/site-packages/x.py", ".git/x.py", "__pycache__/x.py",
    )  # fmt: skip
    root = project({**dict.fromkeys(places, BROKEN), "mine/pyvenv.cfg": "", "good.py": GOOD})

    assert dna("doctor", root)[:2] == (0, "")


def test_a_single_file_is_read_wherever_it_lies(dna: Run) -> None:
    project({"tests/test_x.py": BROKEN})

    assert dna("doctor", "server/tests/test_x.py")[0] == 3


def test_nothing_is_imported_or_run(dna: Run) -> None:
    root = project({"a.py": "open('ran', 'w').close()\nraise SystemExit(9)\n", "b.py": "import a\n"})

    assert dna("doctor", root)[0] == 0
    assert not Path("ran").exists()


def test_links_and_their_loops_are_not_followed(dna: Run) -> None:
    root = project({"good.py": GOOD})
    (root / "loop").symlink_to(root.absolute(), target_is_directory=True)
    (root / "self.py").symlink_to("self.py")
    Path("outside.py").write_text(BROKEN, encoding="utf-8")
    (root / "out.py").symlink_to(Path("outside.py").absolute())

    assert dna("doctor", root)[:2] == (0, "")


def test_what_cannot_be_read_is_a_finding_and_no_traceback(dna: Run) -> None:
    root = project(
        {"syntax.py": "def f(:\n", "bytes.py": b"x = '\xff\xfe'\n", "null.py": b"x = 1\x00\n", "good.py": GOOD}
    )
    os.mkfifo(root / "pipe.py")
    code, out, err = dna("doctor", root, "-o", "json")
    document = json.loads(out)

    assert code == 3
    assert "Traceback" not in err
    assert [(each["file"], each["rule"]) for each in document["findings"]] == [
        (name, "unreadable") for name in ("bytes.py", "null.py", "pipe.py", "syntax.py")
    ]


def test_a_file_that_no_person_wrote_is_skipped_and_named(dna: Run) -> None:
    code, out, err = dna("doctor", project({"big.py": "x = 1\n" * 1_000_000, "good.py": GOOD}))

    assert (code, out) == (0, "")
    assert "skipped: big.py: larger than" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nowhere",), "There is no 'nowhere'"),
        (("empty",), "holds no Python files"),
        (("notes.txt",), "is no Python file"),
        (("n.ipynb",), "tests and notebooks do not count"),
        ((), "Missing argument"),
    ],
)
def test_nothing_to_look_through_is_wrong_usage(words: tuple[str, ...], says: str, dna: Run) -> None:
    Path("empty").mkdir()
    for name in ("notes.txt", "n.ipynb"):
        Path(name).write_text("{}", encoding="utf-8")

    code, out, err = dna("doctor", *words)

    assert (code, out) == (2, "")
    assert says in err


@LONG
def test_five_thousand_files(dna: Run) -> None:
    source = GOOD * 3
    root = project({f"p{place % 50}/m{place}.py": source for place in range(5000)} | {"p7/bad.py": BROKEN})

    code, out, err = dna("doctor", root)

    assert code == 3
    assert out.startswith("p7/bad.py:2: ")
    assert err.startswith("5001 files read")
