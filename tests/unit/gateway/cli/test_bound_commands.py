"""`dna tokenizer`, `dna generator` and `dna code`: what goes where, and with which exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inference_dna.manifest import parse_manifest
from tests.support.command import Run
from tests.support.manifests import write_folder
from tests.support.tiny_causal import causal

FILES = {"model.weights": b"weights", "config.json": b"{}", "vocab.txt": b"a\nb\n", "tokenizer_config.json": b"{}"}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "v2.4.0", FILES)


def test_a_tokenizer_is_packed_noted_signed_and_opened(dna: Run, model: Path) -> None:
    manifest = ("manifest", "--model", model, "--output", "m.json", "--model-id", "m", "--no-probe")
    assert dna(*manifest)[0] == 0
    before = parse_manifest(Path("m.json").read_bytes())

    code, out, err = dna("tokenizer", "pack", "--model", model, "--version", "v2.4.0", "--manifest", "m.json")

    assert (code, err) == (0, "")
    assert "tokenizer_v2.4.0.tar.gz" in out
    assert parse_manifest(Path("m.json").read_bytes()).digests == before.digests
    assert dna("key", "new", "key.pem")[0] == 0
    assert dna("sign", "m.json", "--key", "key.pem")[0] == 0
    assert dna("verify", "m.json", "--model", model, "--key", "key.pem.pub")[0] == 0
    assert dna("tokenizer", "open", "tokenizer_v2.4.0.tar.gz", "--into", "opened", "--manifest", "m.json")[0] == 0
    assert sorted(path.name for path in Path("opened").iterdir()) == ["tokenizer_config.json", "vocab.txt"]


def test_a_signed_manifest_is_not_noted_in(dna: Run, model: Path) -> None:
    dna("manifest", "--model", model, "--output", "m.json", "--no-probe")
    dna("key", "new", "key.pem")
    dna("sign", "m.json", "--key", "key.pem")

    code, _, err = dna("tokenizer", "pack", "--model", model, "--version", "v2.4.0", "--manifest", "m.json")

    assert code == 1
    assert "pack before you sign" in err
    assert not Path("tokenizer_v2.4.0.tar.gz").exists()


def test_a_manifest_whose_tokenizer_is_no_object_is_refused(dna: Run, model: Path) -> None:
    dna("manifest", "--model", model, "--output", "m.json", "--no-probe")
    document = json.loads(Path("m.json").read_text(encoding="utf-8"))
    document["genome"]["tokenizer"] = []
    Path("m.json").write_text(json.dumps(document), encoding="utf-8")

    code, _, err = dna("tokenizer", "open", "t.tar.gz", "--into", "x", "--manifest", "m.json")

    assert code == 1
    assert "must be an object" in err


def test_another_archive_is_not_opened(dna: Run, model: Path) -> None:
    _, out, _ = dna("tokenizer", "pack", "--model", model, "--version", "v2.4.0", "-o", "json")
    digest = "sha256:" + json.loads(out)["files"][0]["sha256"]
    assert dna("tokenizer", "open", "tokenizer_v2.4.0.tar.gz", "--into", "a", "--digest", digest)[0] == 0
    (model / "vocab.txt").write_bytes(b"a\nc\n")
    dna("tokenizer", "pack", "--model", model, "--version", "v2.4.0")

    code, _, err = dna("tokenizer", "open", "tokenizer_v2.4.0.tar.gz", "--into", "b", "--digest", digest)

    assert code == 1
    assert "was promised" in err
    assert not Path("b").exists()


def test_a_dictionary_outside_the_folder_is_packed_too(dna: Run, model: Path) -> None:
    Path("user.dict").write_bytes(b"words")

    code, out, _ = dna(
        "tokenizer", "pack", "--model", model, "--version", "1.0.0", "--extra", "segmenter=user.dict", "-o", "json"
    )
    digest = "sha256:" + json.loads(out)["files"][0]["sha256"]
    dna("tokenizer", "open", "tokenizer_v1.0.0.tar.gz", "--into", "a", "--digest", digest)

    assert code == 0
    assert Path("a/extra/segmenter/user.dict").read_bytes() == b"words"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        pytest.param(("open", "t.tar.gz", "--into", "x"), 2, "--manifest FILE or --digest", id="nothing-promised"),
        pytest.param(
            ("open", "t.tar.gz", "--into", "x", "--digest", "1", "--manifest", "m"), 2, "--manifest FILE", id="both"
        ),
        pytest.param(("open", "t.tar.gz", "--into", "x", "--digest", "1"), 1, "No such file", id="no-archive"),
        pytest.param(("pack", "--model", ".", "--version", "v1.0.0"), 1, "holds no tokenizer files", id="no-tokenizer"),
        pytest.param(("pack", "--model", ".", "--version", "new"), 1, "holds no tokenizer", id="no-version"),
        pytest.param(
            ("pack", "--model", ".", "--version", "v1.0.0", "--extra", "x"), 2, "write LABEL=PATH", id="no-label"
        ),
    ],
)
def test_what_cannot_be_done_is_said(dna: Run, arguments: tuple[str, ...], code: int, says: str) -> None:
    ended, out, err = dna("tokenizer", *arguments)

    assert (ended, out) == (code, "")
    assert says in err


def test_code_that_reads_from_outside_is_found(dna: Run) -> None:
    Path("post.py").write_text("import os\nT = os.environ['TEMPERATURE']\n", encoding="utf-8")
    Path("bound.py").write_text("T = 0.7\n", encoding="utf-8")

    assert dna("code", "check", "bound.py") == (0, "", "")
    assert dna("code", "check", "bound.py", "post.py") == (
        3,
        "post.py:2: reads the environment variable TEMPERATURE\n",
        "",
    )
    code, out, _ = dna("code", "check", "post.py", "-o", "json")
    assert code == 3
    assert json.loads(out)["reads"] == [
        {"path": "post.py", "file": "post.py", "line": 2, "what": "reads the environment", "variable": "TEMPERATURE"}
    ]


def test_code_that_cannot_be_read_is_no_pass(dna: Run) -> None:
    Path("post.py").write_text("def f(:", encoding="utf-8")

    code, out, err = dna("code", "check", "post.py")

    assert (code, out) == (1, "")
    assert "nothing can be said of it" in err


@pytest.mark.models
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_a_generator_is_packed_shown_and_clean(dna: Run) -> None:
    network, tokenizer = causal()
    network.save_pretrained("model")
    tokenizer.save_pretrained("model")
    asked = ("--set", "max_new_tokens=4", "--set", "repetition_penalty=1.3", "--set", "bad_words_ids=[[5], [6, 7]]")

    code, out, _ = dna("generator", "pack", "--model", "model", "--version", "1.0.0", *asked)

    assert code == 0
    assert out.startswith("written  generator_v1.0.0.ts\nsha256:")
    assert "bad_words = [[5], [6, 7]]" in out
    assert dna("code", "check", "generator_v1.0.0.ts") == (0, "", "")
    shown = json.loads(dna("generator", "show", "generator_v1.0.0.ts", "-o", "json")[1])
    assert (shown["max_new_tokens"], shown["repetition_penalty"], shown["do_sample"]) == (4, 1.3, False)


@pytest.mark.models
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        pytest.param(("--set", "temperature"), 2, "write NAME=JSON", id="no-value"),
        pytest.param(("--set", "temperature=hot"), 2, "write NAME=JSON", id="no-json"),
        pytest.param(("--set", "num_beams=4"), 1, "has no class", id="no-model"),
    ],
)
def test_a_generator_that_cannot_be_packed_is_no_file(
    dna: Run, arguments: tuple[str, ...], code: int, says: str
) -> None:
    Path("model").mkdir()

    ended, out, err = dna("generator", "pack", "--model", "model", "--version", "1.0.0", *arguments)

    assert (ended, out) == (code, "")
    assert says in err
    assert list(Path().glob("*.ts")) == []


def test_what_is_no_generator_is_not_shown(dna: Run) -> None:
    Path("x.ts").write_bytes(b"no archive")

    assert dna("generator", "show", "x.ts")[:2] == (1, "")
