"""Stamps one answer: headers, log line, receipt. For programs that are no ASGI application (Flask, gRPC, scripts).

    from inference_dna.serving.stamp import stamp

    stamped = stamp(standing, input_hash=hash_tokens([ids]), request_id=request.headers.get("X-Request-ID"))
    response.headers.extend(stamped.headers)

For gRPC the headers are initial metadata as they stand.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus

from inference_dna import headers as names
from inference_dna.canonical import Json, Refused
from inference_dna.genome import Genome
from inference_dna.measure.healthz import stamps
from inference_dna.serving.receipt import Receipt, ReceiptKey
from inference_dna.serving.standing import Standing, Status, gpu_name

REQUEST_ID = "x-request-id"
EVENT = "INFERENCE_DNA"
Headers = list[tuple[str, str]]
Write = Callable[[str], object]
"""Takes one log line, without its line end."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_NONCE = re.compile(r"[\x21-\x7e]{1,128}")


@dataclass(frozen=True, slots=True)
class Stamped:
    """What one answer carries: the identity of the moment it was stamped, whatever changes afterwards.

    `input_hash` is 64 bare hex, empty where no input was hashed.
    """

    standing: Standing
    boot_id: str
    genome: Genome
    request_id: str
    input_hash: str = ""

    @property
    def is_current(self) -> bool:
        """Say whether the worker is still the one that was stamped."""
        state = self.standing.state
        return state.status is Status.OK and state.boot_id == self.boot_id

    @property
    def headers(self) -> Headers:
        """The headers, names in small letters.

        Raises:
            Refused: The input hash is none.
        """
        stamped = stamps(self.genome.digests, self.standing.served, input_hash=self.input_hash)
        return [*stamped, (REQUEST_ID, self.request_id)]

    def log_line(self, **further: Json) -> str:
        """Write the log line: one JSON object, whose event is `INFERENCE_DNA`.

        Args:
            further: Members of the caller's own, such as sampling parameters.
        """
        stated = dict(self.headers)
        line = {
            "ts": _timestamp(time.time()),  # noqa: TID251 - the moment the line is written
            "level": "info",
            "event": EVENT,
            "request_id": self.request_id,
            "dna": stated.get(names.DNA),
            "digest": stated.get(names.DIGEST),
            "model_id": self.standing.served.model_id,
            "version": self.standing.served.version,
            "input_hash": self.input_hash,
            "gpu_name": gpu_name(self.genome.sections["hardware"]),
        }
        return json.dumps({**line, **further}, ensure_ascii=False)

    def receipt(self, key: ReceiptKey, exchanged: Exchanged) -> str:
        """Sign what was answered.

        Args:
            key: The worker's own.
            exchanged: The request and the whole answer.
        """
        stated = dict(self.headers)
        return key.sign(
            Receipt(
                dna=stated[names.DNA],
                digest=stated[names.DIGEST],
                model_id=self.standing.served.model_id,
                version=self.standing.served.version,
                input_hash=self.input_hash,
                method=exchanged.method,
                path=exchanged.path,
                request_sha256=exchanged.request_sha256,
                status=exchanged.status,
                body_sha256=exchanged.body_sha256,
                body_bytes=exchanged.body_bytes,
                boot_id=self.boot_id,
                request_id=self.request_id,
                nonce=exchanged.nonce or secrets.token_hex(16),
                iat=int(time.time()),  # noqa: TID251 - the moment of signing
            )
        )


@dataclass(frozen=True, slots=True)
class Exchanged:
    """One request with its whole answer, as hashes. `nonce` is what the client sent, empty where it sent none."""

    method: str
    path: str
    request_sha256: str
    status: int
    body_sha256: str
    body_bytes: int
    nonce: str = ""

    @classmethod
    def of(
        cls, method: str, path: str, request_body: bytes, body: bytes, *, status: int = 200, nonce: str | None = None
    ) -> Exchanged:
        """Hash a request and an answer that are both at hand."""
        hashes = sha256(request_body).hexdigest(), sha256(body).hexdigest()
        return cls(method, path, hashes[0], status, hashes[1], len(body), usable_nonce(nonce))


def stamp(
    standing: Standing,
    *,
    input_hash: str = "",
    request_id: str | None = None,
    write: Write | None = None,
    **further: Json,
) -> Stamped:
    """Stamp one answer and write its log line.

    Args:
        standing: The worker's; its status must be `ok`.
        input_hash: 64 bare hex over what was fed to the model (`inference_dna.inputs`), empty where nothing was.
        request_id: What the client sent; anything but 1 to 128 of letters, digits, `.`, `_`, `-` is replaced.
        write: Takes the log line; None writes it to standard output.
        further: Members for the log line.

    Raises:
        Refused: The worker is not ready, or the input hash is none.
    """
    stamped = prepare(standing, input_hash=input_hash, request_id=request_id)
    (write or write_line)(stamped.log_line(**further))
    return stamped


def prepare(standing: Standing, *, input_hash: str = "", request_id: str | None = None) -> Stamped:
    """As `stamp`, without the log line."""
    state = standing.state
    if state.status is not Status.OK or state.genome is None:
        raise Refused(f"The worker is not ready. {state.reason}")
    return Stamped(standing, state.boot_id, state.genome, usable_request_id(request_id), input_hash)


def usable_request_id(sent: str | None) -> str:
    """Keep a request id that is well-formed; make one where it is not."""
    return sent if sent is not None and _REQUEST_ID.fullmatch(sent) else secrets.token_hex(16)


def usable_nonce(sent: str | None) -> str:
    """Keep a nonce that is 1 to 128 printable ASCII characters; the empty text where it is not."""
    return sent if sent is not None and _NONCE.fullmatch(sent) else ""


def health_answer(standing: Standing, method: str) -> tuple[HTTPStatus, Headers, bytes]:
    """Write the whole answer of `/healthz`.

    Args:
        standing: The worker's.
        method: `GET` or `HEAD`; anything else is answered with 405.

    Returns:
        Status, headers and body; a `HEAD` has the same headers and no body.
    """
    if method not in ("GET", "HEAD"):
        return HTTPStatus.METHOD_NOT_ALLOWED, [("allow", "GET, HEAD"), ("content-length", "0")], b""
    status, document = standing.health()
    body = json.dumps(document, ensure_ascii=False).encode()
    headers = [
        *standing.headers(),
        ("content-type", "application/json"),
        ("content-length", str(len(body))),
        ("cache-control", "no-store"),
    ]
    return status, headers, b"" if method == "HEAD" else body


def write_line(line: str) -> None:
    """Write a line to standard output at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _timestamp(seconds: float) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03d}Z"
