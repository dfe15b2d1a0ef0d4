from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.adapters import measure_adapter
from inference_dna.trust.verify import Beside, Fault, verify_folder
from tests.support.manifests import FILES, entry, genome_of, manifest_of, with_value, write_folder
from tests.support.weights import safetensors

MANIFEST = manifest_of()
WEIGHTS = "model.bin.weights"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "model")


def found(model: Path) -> list[tuple[Fault, str]]:
    return [(finding.fault, finding.name) for finding in verify_folder(MANIFEST, model)]


def test_a_folder_that_is_what_the_manifest_says(model: Path) -> None:
    assert verify_folder(MANIFEST, model) == ()


def test_the_manifest_and_its_signatures_may_lie_in_the_folder(model: Path) -> None:
    write_folder(model, {"manifest.json": b"{}", "manifest_v2.4.0.json.sig": b"x", "manifest.json.asc": b"x"})

    assert found(model) == []


@pytest.mark.parametrize("name", [name for name in FILES if name != "README.md"])
def test_one_flipped_bit_in_any_file_is_found(name: str, model: Path) -> None:
    content = bytearray(FILES[name])
    content[len(content) // 2] ^= 1
    (model / name).write_bytes(content)

    (finding,) = verify_folder(MANIFEST, model)
    assert (finding.fault, finding.name) == (Fault.CHANGED, name)
    assert "sha256" in finding.reason


@pytest.mark.parametrize("name", [*FILES][:4])
def test_every_file_that_is_missing_is_found(name: str, model: Path) -> None:
    (model / name).unlink()

    assert found(model) == [(Fault.MISSING, name)]


@pytest.mark.parametrize(
    "name",
    [
        "modeling_extra.py",
        "chat_template.jinja",
        "model.safetensors",
        "sub/tokenizer.json",
        "sub/manifest.json",
        "LICENSE",
        ".hidden",
        ".cache/note",
        "__pycache__/modeling.cpython-311.pyc",
    ],
)
def test_every_file_too_many_is_found(name: str, model: Path) -> None:
    write_folder(model, {name: b"x"})

    assert found(model) == [(Fault.EXTRA, name)]


def swap(model: Path) -> None:
    (model / "config.json").rename(model / "x")
    (model / WEIGHTS).rename(model / "config.json")
    (model / "x").rename(model / WEIGHTS)


def rename(model: Path) -> None:
    (model / WEIGHTS).rename(model / "other.weights")


def cut(model: Path) -> None:
    (model / WEIGHTS).write_bytes(FILES[WEIGHTS][:-1])


def replace_by_folder(model: Path) -> None:
    (model / WEIGHTS).unlink()
    (model / WEIGHTS).mkdir()


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        pytest.param(swap, [(Fault.CHANGED, "config.json"), (Fault.CHANGED, WEIGHTS)], id="two-names-swapped"),
        pytest.param(rename, [(Fault.MISSING, WEIGHTS), (Fault.EXTRA, "other.weights")], id="renamed"),
        pytest.param(cut, [(Fault.CHANGED, WEIGHTS)], id="cut-short"),
        pytest.param(replace_by_folder, [(Fault.MISSING, WEIGHTS)], id="a-folder-of-that-name"),
    ],
)
def test_other_mischief(spoil: Callable[[Path], None], expected: list[tuple[Fault, str]], model: Path) -> None:
    spoil(model)

    assert found(model) == expected


@pytest.mark.parametrize(("target", "why"), [("nowhere", "dangles"), ("../outside", "leaves")])
def test_links_that_dangle_or_leave_are_refused(target: str, why: str, model: Path) -> None:
    (model.parent / "outside").write_bytes(FILES[WEIGHTS])
    (model / WEIGHTS).unlink()
    (model / WEIGHTS).symlink_to(target)

    with pytest.raises(Refused, match=why):
        verify_folder(MANIFEST, model)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="Reading the folder"):
        verify_folder(MANIFEST, tmp_path / "none")


def test_a_file_left_out_by_a_glob_must_be_listed(model: Path) -> None:
    genome = with_value(genome_of(), "weights.evidence.ignored", ["README.md", "old.bak"])
    manifest = manifest_of(with_value(genome, "weights.exclude", ["*.bak"]))
    write_folder(model, {"old.bak": b"x"})

    assert verify_folder(manifest, model) == ()
    write_folder(model, {"new.bak": b"x"})
    assert [finding.name for finding in verify_folder(manifest, model)] == ["new.bak"]


def test_code_cannot_be_left_out_by_a_list(model: Path) -> None:
    manifest = manifest_of(with_value(genome_of(), "weights.evidence.ignored", ["README.md", "modeling.py"]))
    write_folder(model, {"modeling.py": b"x"})

    assert [finding.name for finding in verify_folder(manifest, model)] == ["modeling.py"]


def test_files_outside_the_folder_must_be_named(model: Path, tmp_path: Path) -> None:
    files = [*genome_of()["tokenizer"]["files"], entry("extra/segmenter/dictionary.txt", b"words")]
    manifest = manifest_of(with_value(genome_of(), "tokenizer.files", files))
    dictionary = write_folder(tmp_path / "outside", {"dictionary.txt": b"words"}) / "dictionary.txt"

    (missing,) = verify_folder(manifest, model)
    assert (missing.fault, "--extra segmenter=PATH" in missing.reason) == (Fault.MISSING, True)
    for path in (dictionary, dictionary.parent):
        assert verify_folder(manifest, model, beside=Beside(files={"segmenter": path})) == ()
    dictionary.write_bytes(b"other")
    (changed,) = verify_folder(manifest, model, beside=Beside(files={"segmenter": dictionary}))
    assert changed.fault is Fault.CHANGED


def test_adapters_must_be_named_and_the_same(model: Path, tmp_path: Path) -> None:
    adapter = write_folder(
        tmp_path / "adapter", {"adapter_config.json": b"{}", "adapter_model.safetensors": safetensors({"w": b"1234"})}
    )
    digest = f"sha256:{measure_adapter('poet', adapter).digest}"
    manifest = manifest_of(with_value(genome_of(), "weights.adapters", [{"name": "poet", "digest": digest}]))

    def judged(**adapters: Path) -> list[tuple[Fault, str]]:
        findings = verify_folder(manifest, model, beside=Beside(adapters=adapters))
        return [(finding.fault, finding.name) for finding in findings]

    assert judged() == [(Fault.MISSING, "adapter poet")]
    assert judged(poet=adapter) == []
    assert judged(poet=adapter, other=adapter) == [(Fault.EXTRA, "adapter other")]
    (adapter / "adapter_model.safetensors").write_bytes(safetensors({"w": b"4321"}))
    assert judged(poet=adapter) == [(Fault.CHANGED, "adapter poet")]


def test_a_model_that_is_one_file(tmp_path: Path) -> None:
    content = safetensors({"w": b"1234"})
    folder = write_folder(tmp_path / "files", {"model.safetensors": content, "another.safetensors": b"x"})
    genome = with_value(genome_of(), "weights.files", [entry("model.safetensors", content)])
    for section in ("tokenizer.files", "postprocess.evidence", "weights.evidence"):
        genome = with_value(genome, section, ...)
    manifest = manifest_of(genome)

    assert verify_folder(manifest, folder / "model.safetensors") == ()
    (folder / "model.safetensors").write_bytes(safetensors({"w": b"4321"}))
    assert [finding.fault for finding in verify_folder(manifest, folder / "model.safetensors")] == [Fault.CHANGED]


def test_one_name_with_two_contents_is_refused(model: Path) -> None:
    manifest = manifest_of(with_value(genome_of(), "postprocess.evidence.files", [entry("config.json", b"other")]))

    with pytest.raises(Refused, match="twice"):
        verify_folder(manifest, model)
