"""A gRPC server around a model of transformers: stamps are initial metadata, health is answered beside it over HTTP.

    python examples/grpc_server.py MODEL MANIFEST PUBLIC_KEY PORT HEALTH_PORT

Messages are JSON here, so that nothing must be generated first; with a .proto of one's own only the two serializers
change.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NoReturn

import grpc

from inference_dna import guard
from inference_dna.inputs import hash_tokens
from inference_dna.serving.stamp import REQUEST_ID, health_answer, stamp
from inference_dna.serving.standing import Standing
from inference_dna.shared_model import SettingRefused, SharedModel, from_pretrained

SERVICE, METHOD = "example.Generator", "Generate"
THREADS = 8


def build(folder: str, manifest: str, key: str) -> tuple[grpc.Server, Standing]:
    """Put the server together; ends the process where the model is not what the manifest promises."""
    shared = SharedModel(from_pretrained(folder))
    model, tokenizer = shared.get()
    standing = guard.require(manifest, guard.transformers(model, tokenizer, folder), trust=[key])

    def generate(asked: dict[str, Any], context: grpc.ServicerContext) -> dict[str, str]:
        text = asked.pop("text", None)
        try:
            answer = shared.generate(text, **asked)
        except SettingRefused as refused:
            refuse(context, f"{refused.field}: {refused}")
        sent = dict(context.invocation_metadata()).get(REQUEST_ID)
        input_hash = hash_tokens([tokenizer(text)["input_ids"]])
        stamped = stamp(standing, input_hash=input_hash, request_id=str(sent) if sent else None)
        context.send_initial_metadata(tuple(stamped.headers))
        return {"text": answer}

    handler: Any = grpc.unary_unary_rpc_method_handler(
        generate, request_deserializer=json.loads, response_serializer=lambda answer: json.dumps(answer).encode()
    )
    server = grpc.server(ThreadPoolExecutor(THREADS))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler}),))
    return server, standing


def refuse(context: grpc.ServicerContext, reason: str) -> NoReturn:
    """End a call as the client's fault."""
    context.abort(grpc.StatusCode.INVALID_ARGUMENT, reason)
    raise AssertionError("abort always raises")


def health_server(standing: Standing, port: int) -> ThreadingHTTPServer:
    """Make the HTTP server that a contract's `health_url` points at."""

    class Health(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = health_answer(standing, self.command)
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 - named by the standard library

    return ThreadingHTTPServer(("127.0.0.1", port), Health)


if __name__ == "__main__":
    *given, port, health_port = sys.argv[1:]
    server, standing = build(*given)
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    health_server(standing, int(health_port)).serve_forever()
