from __future__ import annotations

from pathlib import Path

import pytest

from inference_dna.attest.command_line import adapters_named, named_paths, read_flags, with_environment
from inference_dna.attest.content import content_digest
from inference_dna.canonical import Json


def flags(*words: str, model: Path = Path("/")) -> dict[str, Json]:
    return read_flags(["vllm", *words], model=model, where=Path)


@pytest.mark.parametrize(
    ("words", "read"),
    [
        pytest.param(["--dtype", "float16"], {"dtype": "float16"}, id="value-behind"),
        pytest.param(["--dtype=float16"], {"dtype": "float16"}, id="value-behind-equals"),
        pytest.param(["--max_model_len", "8"], {"max-model-len": "8"}, id="underscores"),
        pytest.param(["--enforce-eager"], {"enforce-eager": True}, id="alone"),
        pytest.param(["--min-p", "-1"], {"min-p": "-1"}, id="negative-number"),
        pytest.param(["--device-ids", "0", "1"], {"device-ids": None}, id="several"),
        pytest.param(["--port", "80", "--host", "::", "--log-level", "debug"], {}, id="only-talks"),
        pytest.param(["--api-key", "s3cret", "--hf-token", "s3cret"], {}, id="secrets"),
        pytest.param(["--fingerprint-value", "dna:1"], {}, id="our-own-label"),
        pytest.param(["serve", "some/model"], {}, id="words-of-the-command"),
    ],
)
def test_options_are_read(words: list[str], read: dict[str, Json]) -> None:
    found = flags(*words)

    assert found.keys() == read.keys()
    assert all(found[name] == value for name, value in read.items() if value is not None)


def test_an_option_nobody_knows_counts_and_shows_nothing() -> None:
    first, second = flags("--brand-new", "quiet word"), flags("--brand-new", "another")

    assert first != second
    assert "quiet word" not in str(first)


def test_logits_processors_are_no_logs() -> None:
    assert "logits-processors" in flags("--logits-processors", "mine:Processor")


def test_the_model_that_is_measured_says_nothing_more(tmp_path: Path) -> None:
    assert flags("--model", str(tmp_path), "--dtype", "auto", model=tmp_path) == {"dtype": "auto"}


def test_a_file_counts_by_its_content_wherever_it_lies(tmp_path: Path) -> None:
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "t.jinja").write_text("{{ x }}", encoding="utf-8")
    first, second = (flags("--chat-template", f"{tmp_path}/{place}/t.jinja") for place in ("a", "b"))
    (tmp_path / "b" / "t.jinja").write_text("{{ y }}", encoding="utf-8")

    assert first == second
    assert flags("--chat-template", f"{tmp_path}/b/t.jinja") != first


def test_a_folder_counts_by_all_its_visible_files(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(b"1")
    before = content_digest(tmp_path)
    (tmp_path / ".hidden").write_bytes(b"2")
    assert content_digest(tmp_path) == before
    (tmp_path / "x.bin").write_bytes(b"2")

    assert content_digest(tmp_path) != before
    assert flags("--speculative-model", str(tmp_path)) != {"speculative-model": str(tmp_path)}


def test_adapters_are_found_with_their_folders(tmp_path: Path) -> None:
    words = ["vllm", "--lora-modules", f"poet={tmp_path}", "legal=hub-name", "--dtype", "auto"]

    assert adapters_named(words) == {"poet": str(tmp_path)}
    assert named_paths(words, Path) == (tmp_path,)


def test_a_log_file_is_not_watched(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("", encoding="utf-8")

    assert named_paths(["vllm", "--log-file", f"{tmp_path}/log"], Path) == ()


def test_options_from_the_environment_count_like_those_of_the_command_line(tmp_path: Path) -> None:
    environ = {"N_CTX": "512", "chat_format": "chatml", "HOME": "/root", "API_KEY": "s3cret"}
    words = with_environment(["python", "-m", "llama_cpp.server"], environ, ("n_ctx", "chat_format"))

    assert words == ("python", "-m", "llama_cpp.server", "--chat_format=chatml", "--n_ctx=512")
    flags = read_flags(words, model=tmp_path, where=Path)
    assert (flags["n-ctx"], flags["chat-format"]) == ("512", "chatml")
