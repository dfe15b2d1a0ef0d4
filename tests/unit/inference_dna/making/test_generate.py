from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from inference_dna.assurance import Assurance
from inference_dna.canonical import Refused
from inference_dna.difference.diff import compare
from inference_dna.difference.text import difference_lines
from inference_dna.golden import golden_of
from inference_dna.making.generate import Order, generate, main, parse_order
from inference_dna.manifest import Manifest, Subject, parse_manifest
from inference_dna.measure.hashing import SMALL_BYTES
from inference_dna.measure.unasked import AT_REST
from inference_dna.trust.pem import new_key_pair
from inference_dna.trust.verify import verify_folder
from tests.support.manifests import FILES, genome_of, write_folder
from worker.demo.recipes import BUNDLES

REPOSITORY = Path(__file__).parents[4]
TOOL = REPOSITORY / "tools" / "generate_dna_manifest.py"
NOW = datetime(2025, 1, 31, 12, tzinfo=UTC)


def safetensors(name: str = "a.weight", content: bytes = b"\0\0\x80?") -> bytes:
    header = json.dumps({name: {"dtype": "F32", "shape": [1], "data_offsets": [0, len(content)]}}).encode()
    return struct.pack("<Q", len(header)) + header + content


def tokenizer() -> bytes:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    return Tokenizer(WordLevel({"[UNK]": 0, "a": 1}, unk_token="[UNK]")).to_str().encode()


MODEL: Mapping[str, bytes] = {
    "config.json": b"{}",
    "model.safetensors": safetensors(),
    "generation_config.json": b'{"temperature": 0.7}',
    "README.md": b"read me",
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "v2.4.0", {**MODEL, "tokenizer.json": tokenizer()})


def order(model: Path, **changes: Any) -> Order:
    return Order(**{"model": model, "output": model.parent / "manifest.json", "model_id": "m", **changes})


def made(model: Path, **changes: Any) -> Manifest:
    asked = order(model, **changes)
    generate(asked, now=NOW)
    return parse_manifest(asked.output.read_bytes())


def test_what_is_written_reads_back_and_describes_the_folder(model: Path) -> None:
    manifest = made(model)

    assert manifest.subject == Subject("m", "v2.4.0")
    assert manifest.created_at == "2025-01-31T12:00:00Z"
    assert manifest.dna is not None
    assert verify_folder(manifest, model) == ()


def test_the_same_folder_gives_the_same_bytes(model: Path) -> None:
    first, second = model.parent / "a.json", model.parent / "b.json"
    for output in (first, second):
        generate(order(model, output=output), now=NOW)

    assert first.read_bytes() == second.read_bytes()


def test_a_manifest_inside_the_folder_changes_nothing_of_the_next(model: Path) -> None:
    inside = model / "manifest.json"
    first = made(model, output=inside).document
    second = made(model, output=inside).document

    assert first == second
    assert verify_folder(parse_manifest(inside.read_bytes()), model) == ()


def test_the_tokenizer_is_asked_and_its_files_alone_are_another_tokenizer(model: Path) -> None:
    asked: Any = made(model).genome["tokenizer"]
    unasked: Any = made(model, probe=False).genome["tokenizer"]
    assert unasked["evidence"] == {"unasked": "nobody asked it: --no-probe"}

    assert len(asked["probe"]["ids"]) == 64
    assert unasked["probe"] is None
    assert asked["files"] == unasked["files"]


def test_a_model_at_rest_says_so_and_its_files_decide(model: Path) -> None:
    genome: Any = made(model).genome

    assert genome["framework"]["engine"] == {"name": "at-rest", "version": None, "commit": None}
    assert genome["weights"]["format"] == "safetensors"
    assert [entry["name"] for entry in genome["postprocess"]["files"]] == ["generation_config.json"]
    assert genome["weights"]["evidence"]["ignored"] == ["README.md"]
    before = made(model).digests["postprocess"]
    (model / "generation_config.json").write_bytes(b'{"temperature": 0.9}')
    assert made(model).digests["postprocess"] != before


def test_a_model_without_tokenizer_and_post_processing_says_none(tmp_path: Path) -> None:
    model = write_folder(tmp_path / "v1.0.0", {"model.safetensors": safetensors()})
    genome: Any = made(model).genome

    assert (genome["tokenizer"], genome["postprocess"]) == ({"kind": "none"}, {"kind": "none"})


def test_the_artifact_alone_has_no_stack(model: Path) -> None:
    manifest = made(model, artifact_only=True)

    assert manifest.unmeasured == ("framework", "hardware")
    assert manifest.dna is None


def test_tensors_are_listed_where_they_are_asked_for(model: Path) -> None:
    evidence: Any = made(model, tensors=True).genome["weights"]["evidence"]  # type: ignore[index,call-overload]

    assert evidence["tensors"].startswith("sha256:")
    assert [tensor["name"] for tensor in evidence["tensor_list"]] == ["a.weight"]


def test_a_golden_input_is_kept(model: Path) -> None:
    golden = model.parent / "golden.json"
    golden.write_text('{"input_ids": [1], "output_ids": [2, 3]}')
    found = golden_of(made(model, golden=golden).genome)

    assert found is not None
    assert found.output_ids == (2, 3)
    golden.write_text('{"input_ids": [1]}')
    with pytest.raises(Refused, match="no engine is here"):
        made(model, golden=golden)


def test_remembered_digests_are_asked_for_and_shown(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (model / "large.dat").write_bytes(bytes(SMALL_BYTES))
    later = time.time() + 60  # files that changed just now are not remembered
    monkeypatch.setattr("inference_dna.making.generate._wall_clock", lambda: later)
    first, second = (made(model, digest_cache=model.parent / "cache") for _ in range(2))

    assert (first.assurance, second.assurance) == (Assurance.FULL_HASH, Assurance.STAT_CACHED)
    assert first.digests == second.digests
    assert made(model).assurance is Assurance.FULL_HASH
    (model.parent / "cache" / "digests.json").write_text("{}")
    assert made(model, digest_cache=model.parent / "cache").assurance is Assurance.FULL_HASH
    assert "The remembered digests were not believed." in capsys.readouterr().err


def test_it_may_be_signed_at_once(model: Path) -> None:
    key = model.parent / "key.pem"
    key.write_bytes(new_key_pair()[0])

    assert [entry["alg"] for entry in made(model, sign=key).signatures] == ["ed25519"]


def test_files_may_be_left_out_by_a_glob_that_enters_the_digest(model: Path) -> None:
    write_folder(model, {"old.bak": b"x"})
    whole, without = made(model), made(model, exclude=("*.bak",))

    assert whole.digests["weights"] != without.digests["weights"]
    assert verify_folder(without, model) == ()
    with pytest.raises(Refused, match="cannot be left out"):
        made(write_folder(model, {"modeling.py": b"x"}), exclude=("*.py",))


# names ----------------------------------------------------------------------------------------------------------------


def test_a_link_to_the_folder_has_a_name_of_its_own(model: Path) -> None:
    link = model.parent / "v3.0.0"
    link.symlink_to(model)

    assert made(link).subject == Subject("m", "v3.0.0")


def test_the_version_is_the_folders_name_or_what_was_said(model: Path) -> None:
    assert made(model, version="9.0.0").subject == Subject("m", "v9.0.0")
    assert made(model, model_id=None).subject is None


@pytest.mark.parametrize(
    ("name", "changes", "why"),
    [
        pytest.param("v2.4.0", {"version": "latest"}, "is no version", id="no-version"),
        pytest.param("v2.4.0", {"model_id": None, "version": "v1.0.0"}, "say --model-id", id="version-alone"),
        pytest.param("current", {}, "say --version", id="folder-without-a-version"),
    ],
)
def test_names_that_name_nothing(name: str, changes: Any, why: str, model: Path) -> None:
    renamed = model.rename(model.parent / name)

    with pytest.raises(Refused, match=why):
        made(renamed, **changes)


# refusals: nothing is written -----------------------------------------------------------------------------------------


def truncate(model: Path) -> None:
    (model / "model.safetensors").write_bytes(safetensors()[:-1])


def index_names_a_missing_shard(model: Path) -> None:
    weight_map = {"weight_map": {"a.weight": "model-00001-of-00002.safetensors"}}
    (model / "model.safetensors.index.json").write_text(json.dumps(weight_map))


def dangle(model: Path) -> None:
    (model / "link.bin").symlink_to("nowhere")


def spoil_tokenizer(model: Path) -> None:
    (model / "tokenizer.json").write_bytes(b"{}")


def pickle_in_place_of_weights(model: Path) -> None:
    # Would write a file when loaded; it is refused, and nothing of it runs.
    (model / "model.safetensors").write_bytes(b"cos\nsystem\n(S'touch loaded'\ntR.")


@pytest.mark.parametrize(
    "spoil",
    [
        truncate,
        index_names_a_missing_shard,
        dangle,
        spoil_tokenizer,
        pickle_in_place_of_weights,
    ],
)
def test_what_is_refused_leaves_no_manifest(spoil: Callable[[Path], None], model: Path) -> None:
    spoil(model)
    with pytest.raises(Refused):
        made(model)

    assert not (model.parent / "manifest.json").exists()
    assert [path for path in model.parent.iterdir() if path != model] == []


def test_the_output_may_not_make_the_folder_another(model: Path) -> None:
    with pytest.raises(Refused, match=r"must be named manifest\*"):
        made(model, output=model / "birth.json")


def test_an_output_that_cannot_be_written_is_a_sentence(model: Path) -> None:
    with pytest.raises(Refused, match=r"Writing .* failed"):
        made(model, output=model.parent / "no folder" / "manifest.json")


def test_a_model_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(Refused):
        made(tmp_path / "v1.0.0")


# engines --------------------------------------------------------------------------------------------------------------


def test_a_function_of_ones_own_measures(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "our_measuring.py").write_text(
        "from tests.support.manifests import genome_of\n\ndef measure(folder):\n    return genome_of()\n"
    )
    monkeypatch.chdir(tmp_path)
    manifest = made(model, engine="our_measuring:measure")

    assert manifest.genome == json.loads(json.dumps(genome_of(FILES)))


@pytest.mark.parametrize("engine", ["nonsense", "os:", ":measure", "no_such_module:measure", "json:no_such_function"])
def test_engines_that_are_not_there(engine: str, model: Path) -> None:
    with pytest.raises(Refused, match=r"engine|imported"):
        made(model, engine=engine)


def test_the_worker_of_this_repository_measures_its_bundles(tmp_path: Path) -> None:
    asked = Order(
        model=BUNDLES / "v2.4.0",
        output=tmp_path / "manifest.json",
        model_id="intent-classifier",
        engine="worker.measurement:measure_bundle",
        artifact_only=True,
    )
    generate(asked, now=NOW)
    committed = parse_manifest((BUNDLES / "v2.4.0" / "manifest.json").read_bytes())

    assert parse_manifest(asked.output.read_bytes()).digests == committed.digests


# the command line -----------------------------------------------------------------------------------------------------


def test_every_option_reaches_the_order() -> None:
    line = (
        "--model M --output O --model-id I --version V --artifact-only --tensors --sign K --passphrase-file P "
        "--engine at-rest --no-probe --exclude *.bak --exclude *.old --golden G"
    )

    assert parse_order(line.split()) == Order(
        model=Path("M"),
        output=Path("O"),
        model_id="I",
        version="V",
        artifact_only=True,
        tensors=True,
        sign=Path("K"),
        passphrase_file=Path("P"),
        engine=AT_REST,
        probe=False,
        exclude=("*.bak", "*.old"),
        golden=Path("G"),
    )


def test_the_command_says_what_it_wrote(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = model.parent / "manifest.json"
    code = main(["--model", str(model), "--output", str(output)])
    out, err = capsys.readouterr()

    assert code == 0
    assert {line.partition(":")[0] for line in err.splitlines()} == {"not measured"}
    assert parse_manifest(output.read_bytes()).dna in out.split()
    assert "it names no model" in out
    assert "it is not signed" in out


def test_standard_output_holds_the_document_alone(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--model", str(model), "--output", "-", "--model-id", "m"])
    out, err = capsys.readouterr()

    assert parse_manifest(out).subject == Subject("m", "v2.4.0")
    assert "dna " in err


def test_a_refusal_is_a_sentence_and_1(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truncate(model)

    assert main(["--model", str(model), "--output", "-"], program="tool") == 1
    assert capsys.readouterr().err.startswith("tool: ")


def test_the_script_runs_exactly_so(model: Path) -> None:
    relative = model.parent / "models"
    relative.mkdir()
    model.rename(relative / "v2.4.0")
    command = [sys.executable, str(TOOL), "--model", "./models/v2.4.0", "--output", "manifest_v2.4.0.json"]
    done = subprocess.run(command, cwd=relative.parent, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    manifest = parse_manifest((relative.parent / "manifest_v2.4.0.json").read_bytes())
    assert verify_folder(manifest, relative / "v2.4.0") == ()


def test_hashing_needs_the_standard_library_alone(model: Path) -> None:
    (model / "tokenizer.json").unlink()
    output = model.parent / "manifest.json"
    # Without site-packages: nothing that was installed can be imported.
    command = [sys.executable, "-I", "-S", str(TOOL), "--model", str(model), "--output", str(output), "--tensors"]
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})

    assert done.returncode == 0, done.stderr
    assert verify_folder(parse_manifest(output.read_bytes()), model) == ()


def bare(model: Path, *options: str) -> subprocess.CompletedProcess[str]:
    # Without site-packages: nothing that was installed can be imported.
    command = [sys.executable, "-I", "-S", str(TOOL), "--model", str(model), "--output", "-", *options]
    return subprocess.run(command, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})


def test_what_no_library_could_be_asked_is_said_in_the_manifest_and_on_standard_error(model: Path) -> None:
    done = bare(model)

    assert done.returncode == 0, done.stderr
    manifest = parse_manifest(done.stdout)
    section: Any = manifest.genome["tokenizer"]
    assert (section["probe"], section["settings"]) == (None, None)
    assert section["evidence"] == {"unasked": "tokenizers is not installed"}
    assert "not measured: what it makes of text (tokenizer), for tokenizers is not installed\n" in done.stderr
    assert verify_folder(manifest, model) == ()


def test_an_unasked_tokenizer_is_never_called_equal_or_different(model: Path) -> None:
    without, again, asked = parse_manifest(bare(model).stdout), parse_manifest(bare(model).stdout), made(model)

    same = "\n".join(difference_lines(compare(without, again)))
    assert "not measured on either side: what it makes of text (tokenizer)" in same
    more = "\n".join(difference_lines(compare(without, asked)))
    assert "tokenizer    unknown: only one side measured what it makes of text" in more
    (model / "tokenizer.json").write_bytes((model / "tokenizer.json").read_bytes() + b"\n")
    other = "\n".join(difference_lines(compare(without, made(model))))
    assert "tokenizer    differs: the same text reaches the model as other tokens" in other


def test_a_probe_that_was_asked_for_and_cannot_be_is_refused(model: Path) -> None:
    done = bare(model, "--probe")

    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot be asked the probe: tokenizers is not installed" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("function", "why"),
    [
        pytest.param("os:getcwd", "ended in TypeError", id="fails"),
        pytest.param("os:path", "ended in TypeError", id="is-none"),
        pytest.param("os:fspath", "gave no genome, but a str", id="gives-something-else"),
        pytest.param("..x:y", "is no engine", id="relative"),
        pytest.param("no_such_module:f", "cannot be imported", id="missing"),
    ],
)
def test_a_function_of_ones_own_that_is_none_ends_in_a_sentence(function: str, why: str, model: Path) -> None:
    with pytest.raises(Refused, match=why):
        made(model, engine=function)
