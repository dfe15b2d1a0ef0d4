from __future__ import annotations

import pytest

from inference_dna.measure.places import place_of


@pytest.mark.parametrize(
    ("name", "place"),
    [
        pytest.param("model.safetensors", "weights", id="the-rest-is-weights"),
        pytest.param("config.json", "weights", id="configuration-is-weights"),
        pytest.param("model.safetensors.index.json", "weights", id="index-is-weights"),
        pytest.param("modeling_custom.py", "weights", id="remote-code-is-weights"),
        pytest.param("sub/README.md", "weights", id="readme-below-the-top-is-not-ignored"),
        pytest.param("sub/manifest.json", "weights", id="manifest-below-the-top-is-not-ignored"),
        pytest.param("readme.txt", "weights", id="capitals-count"),
        pytest.param("Tokenizer.json", "weights", id="capitals-count-for-tokenizers"),
        pytest.param("manifest.txt", "weights", id="no-manifest"),
        pytest.param("README", "ignored", id="readme"),
        pytest.param("README.zh.txt", "ignored", id="readme-with-an-end"),
        pytest.param("LICENSE", "ignored", id="licence"),
        pytest.param("NOTICE.txt", "ignored", id="notice"),
        pytest.param("CHANGES.md", "ignored", id="any-md-at-the-top"),
        pytest.param("manifest.json", "ignored", id="manifest"),
        pytest.param("manifest-v2.json.sig", "ignored", id="its-signature"),
        pytest.param("manifest.json.asc", "ignored", id="its-armored-signature"),
        pytest.param(".gitattributes", "ignored", id="hidden"),
        pytest.param(".cache/tokenizer.json", "ignored", id="hidden-folder-wins-over-a-tokenizer-name"),
        pytest.param("a/.b/c", "ignored", id="hidden-in-the-middle"),
        pytest.param("a/__pycache__/m.pyc", "ignored", id="python-cache"),
        pytest.param("tokenizer.json", "tokenizer", id="tokenizer"),
        pytest.param("onnx/vocab.txt", "tokenizer", id="at-any-depth"),
        pytest.param("qwen.tiktoken", "tokenizer", id="by-glob"),
        pytest.param("tokenization_chatglm.py", "tokenizer", id="its-code"),
        pytest.param("chat_template.jinja", "tokenizer", id="chat-template"),
        pytest.param("additional_chat_templates/tool_use.jinja", "tokenizer", id="further-templates"),
        pytest.param("additional_chat_templates/generation_config.json", "tokenizer", id="whatever-lies-there"),
        pytest.param("generation_config.json", "postprocess", id="generation-defaults"),
        pytest.param("sub/generation_config.json", "postprocess", id="generation-defaults-at-any-depth"),
    ],
)
def test_each_file_has_one_place(name: str, place: str) -> None:
    assert place_of(name) == place
