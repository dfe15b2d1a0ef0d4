"""A Flask server around a model of transformers: the same stamps, without ASGI.

python examples/flask_server.py MODEL MANIFEST PUBLIC_KEY PORT
"""

from __future__ import annotations

import sys
from typing import Any

from flask import Flask, Response, jsonify, request

from inference_dna import guard
from inference_dna.inputs import hash_tokens
from inference_dna.serving.stamp import health_answer, stamp
from inference_dna.shared_model import SettingRefused, SharedModel, from_pretrained


def build(folder: str, manifest: str, key: str) -> Flask:
    """Put the server together; ends the process where the model is not what the manifest promises."""
    app = Flask(__name__)
    shared = SharedModel(from_pretrained(folder))
    model, tokenizer = shared.get()
    standing = guard.require(manifest, guard.transformers(model, tokenizer, folder), trust=[key])

    @app.post("/generate")
    def generate() -> Response:
        settings = dict(request.get_json())
        text = settings.pop("text", None)
        answer = jsonify(text=shared.generate(text, **settings))
        input_hash = hash_tokens([tokenizer(text)["input_ids"]])
        stamped = stamp(standing, input_hash=input_hash, request_id=request.headers.get("X-Request-ID"))
        answer.headers.extend(stamped.headers)
        return answer

    @app.route("/healthz", methods=["GET", "HEAD"])
    def healthz() -> Any:
        status, headers, body = health_answer(standing, request.method)
        return body, status, headers

    @app.errorhandler(SettingRefused)
    def refuse(refused: SettingRefused) -> tuple[Response, int]:
        return jsonify(field=refused.field, reason=str(refused)), 422

    return app


if __name__ == "__main__":
    *given, port = sys.argv[1:]
    build(*given).run(host="127.0.0.1", port=int(port), threaded=True)
