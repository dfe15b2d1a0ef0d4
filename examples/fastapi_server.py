"""A FastAPI server around a model of transformers. The three lines that matter are marked.

python examples/fastapi_server.py MODEL MANIFEST PUBLIC_KEY PORT
"""

from __future__ import annotations

import sys
from typing import Annotated

import uvicorn
from fastapi import FastAPI, HTTPException, Request
from pydantic import BaseModel, Field

from inference_dna import guard, middleware  # 1
from inference_dna.shared_model import SettingRefused, SharedModel, from_pretrained


class Prompt(BaseModel):
    """What a client sends."""

    text: Annotated[str, Field(min_length=1)]
    max_new_tokens: Annotated[int, Field(ge=1, le=256)]
    repetition_penalty: float | None = None


def build(folder: str, manifest: str, key: str) -> FastAPI:
    """Put the server together; ends the process where the model is not what the manifest promises."""
    app = FastAPI()
    shared = SharedModel(from_pretrained(folder))
    model, tokenizer = shared.get()

    @app.post("/generate")
    def generate(prompt: Prompt, request: Request) -> dict[str, str]:
        # A plain function: FastAPI runs it in a thread, so that health is answered meanwhile.
        middleware.told_tokens(request.scope, [tokenizer(prompt.text)["input_ids"]])
        try:
            return {"text": shared.generate(**prompt.model_dump(exclude_none=True))}
        except SettingRefused as refused:
            raise HTTPException(422, {"field": refused.field, "reason": str(refused)}) from refused

    standing = guard.require(manifest, guard.transformers(model, tokenizer, folder), trust=[key])  # 2
    app.add_middleware(middleware.InferenceDNA, standing=standing)  # 3
    return app


if __name__ == "__main__":
    *given, port = sys.argv[1:]
    uvicorn.run(build(*given), host="127.0.0.1", port=int(port), access_log=False)
