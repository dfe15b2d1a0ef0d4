"""Whole servers as they stand in public repositories: the broken ones are found line by line, good ones are clean."""

from __future__ import annotations

from pathlib import Path

import pytest

from inference_dna.doctor.examine import examine, examine_source

REPOSITORY = Path(__file__).parents[4]

CHAT_SERVER = """
import os

import torch
from fastapi import FastAPI
from transformers import AutoModelForCausalLM, AutoTokenizer

app = FastAPI()
MODEL_VERSION = os.environ.get("MODEL_VERSION", "v2")  # environment-branch
tokenizer = AutoTokenizer.from_pretrained("m")
tokenizer.pad_token = tokenizer.eos_token
model = AutoModelForCausalLM.from_pretrained("m").eval()
HISTORY = {}


@app.post("/chat")
def chat(body: dict):
    HISTORY.setdefault(body["user"], []).append(body["text"])  # shared-container
    cfg = model.generation_config
    for name in ("temperature", "repetition_penalty"):
        if name in body:
            setattr(cfg, name, body[name])  # generation-config
    if "seed" in body:
        torch.manual_seed(body["seed"])  # global-seed
    tokenizer.padding_side = "left"  # tokenizer-state
    ids = tokenizer(body["text"], return_tensors="pt")
    model.inputs = ids  # model-state
    if body.get("style"):
        model.set_adapter(body["style"])  # adapter
    return {"text": postprocess(tokenizer.decode(model.generate(**ids)[0]))}


def postprocess(text, stops=[]):
    stops.append("</s>")  # mutable-default
    if MODEL_VERSION.startswith("v2"):  # version-branch
        text = text.strip()
    return text
"""
GOOD_SERVER = """
import os
from contextlib import asynccontextmanager
from functools import lru_cache

import torch
from fastapi import FastAPI
from transformers import AutoModelForCausalLM, AutoTokenizer

SETTINGS = {"max_new_tokens": 64}
STOPS = ["</s>"]
PORT = int(os.environ.get("PORT", "8000"))


@lru_cache(maxsize=1)
def get_model():
    model = AutoModelForCausalLM.from_pretrained(os.environ["MODEL_PATH"])
    model.generation_config.pad_token_id = 0
    model.config.use_cache = True
    tokenizer = AutoTokenizer.from_pretrained(os.environ["MODEL_PATH"])
    tokenizer.padding_side = "left"
    return model, tokenizer


@asynccontextmanager
async def lifespan(app):
    torch.manual_seed(0)
    get_model()
    yield


app = FastAPI(lifespan=lifespan)


@app.post("/chat")
def chat(body: dict, messages=None):
    messages = list(messages or [])
    messages.append(body["text"])
    model, tokenizer = get_model()
    generator = torch.Generator().manual_seed(body.get("seed", 0))
    settings = {**SETTINGS, **body.get("settings", {})}
    past_key_values = None
    ids = tokenizer(messages, padding=True, truncation=True, return_tensors="pt")
    out = model.generate(**ids, past_key_values=past_key_values, **settings)
    result = {}
    result["text"] = tokenizer.decode(out[0])
    return result
"""


def marked(source: str) -> list[tuple[int, str]]:
    lines = enumerate(source.splitlines(), start=1)
    return [(line, text.rpartition("# ")[2]) for line, text in lines if "  # " in text]


def test_every_marked_line_of_a_broken_server_is_found() -> None:
    standing = examine_source(CHAT_SERVER.encode(), "server.py").standing

    assert sorted((finding.line, finding.rule.value) for finding in standing) == marked(CHAT_SERVER)


def test_a_good_server_is_clean() -> None:
    assert examine_source(GOOD_SERVER.encode(), "server.py").standing == ()


@pytest.mark.parametrize("folder", ["examples", "inference_dna", "contracts", "gateway", "worker", "tools"])
def test_what_this_repository_ships_is_clean(folder: str) -> None:
    report = examine(REPOSITORY / folder)

    assert [f"{finding.file}:{finding.line}: {finding.rule}" for finding in report.findings] == []
    assert report.files > 2
