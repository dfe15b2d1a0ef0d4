"""dna.md written down a second time, as short as it can be, and compared with the library on documents made by chance.

The vectors of the page are fixed and known; an implementation may have learned them. Nothing here is imported from what
it judges, and every drawn document comes from one seed.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from decimal import Decimal
from hashlib import sha256
from random import Random
from typing import Any

import pytest

from inference_dna.canonical import canonical, parse_json
from inference_dna.files import files_digest, parse_files
from inference_dna.genome import genome
from inference_dna.inputs import hash_request, hash_tokens

SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
CHARACTERS = [*"aZ09 ./|-_", *SHORT, "\0", "\x1f", "\x7f", "é", "e\u0301", "漢", "\u2028", "\uff61", "\U0001f600"]
NUMBERS = [0.7, 1.0, 1e22, 1e23, 5e-324, 1.7976931348623157e308, 0.1 + 0.2, 123456789.125, 1e-7, 100.0, -2.5]
NAMES = ["m", "x/y", "a b", "...", "a\\b", "a\nb", "\uff61", "\U0001f600"]
SECTIONS = ("weights", "tokenizer", "postprocess", "framework", "hardware")
NOT_INPUT = ("id", "metadata", "model", "request_id", "stream", "stream_options", "user")
DOCUMENTS = 300


# the page, section by section -----------------------------------------------------------------------------------------


def h(name: str, body: str | bytes) -> str:
    raw = body.encode() if isinstance(body, str) else body
    return sha256(f"inference-dna/1/{name}\n".encode() + raw).hexdigest()


def c(value: Any) -> str:
    match value:
        case None | True | False:
            return {None: "null", True: "true", False: "false"}[value]
        case int():
            return str(value)
        case float():
            sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
            return ("-" if sign else "") + "".join(map(str, digits)) + f"e{exponent}" if value else "0e0"
        case str():
            return '"' + "".join(SHORT.get(x) or (f"\\u{ord(x):04x}" if x < " " else x) for x in value) + '"'
        case list() | tuple():
            return "[" + ",".join(map(c, value)) + "]"
        case _:
            return "{" + ",".join(f"{c(name)}:{c(value[name])}" for name in sorted(value, key=str.encode)) + "}"


def files(entries: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for each in sorted(entries, key=lambda entry: entry["name"].encode()):
        name = each["name"].replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
        lines.append(f"{each['sha256']}  {each['size']} {name}\n")
    return h("files", "".join(lines))


def section(name: str, held: Mapping[str, Any], bind: Sequence[str]) -> str:
    form = {member: value for member, value in held.items() if member != "evidence"}
    if "files" in form:
        form["files"] = f"sha256:{files(form['files'])}"
    bound = [entry.partition(".")[2] for entry in bind if entry.startswith(f"{name}.")]
    if bound:
        form["bound"] = {member: held["evidence"][member] for member in bound}
    return h(f"section/{name}", c(form))


def digests(document: Mapping[str, Any]) -> dict[str, str]:
    bind = document.get("bind", [])
    found = {name: section(name, document[name], bind) for name in SECTIONS}
    found["stack"] = h("stack", f"{found['hardware']}\n{found['framework']}\n")
    found["artifact"] = h("artifact", f"{found['weights']}\n{found['tokenizer']}\n{found['postprocess']}\n")
    bare = {name: found[name] for name in SECTIONS}
    return found | {"runtime": h("runtime", c({"format": "inference-dna/1", "bind": bind, **bare}))}


def dna(found: Mapping[str, str], input_hash: str) -> str:
    return found["stack"][:4] + found["artifact"][:4] + h("request", f"{found['runtime']}\n{input_hash}")[:8]


def tokens(sequences: Sequence[Sequence[int]]) -> str:
    lengths = ",".join(str(len(ids)) for ids in sequences)
    return h(
        "input/tokens", lengths.encode() + b"\n" + b"".join(struct.pack("<q", x) for ids in sequences for x in ids)
    )


# documents made by chance ---------------------------------------------------------------------------------------------


def text(draw: Random) -> str:
    return "".join(draw.choice(CHARACTERS) for _ in range(draw.randint(0, 8)))


def number(draw: Random) -> float:
    (drawn,) = struct.unpack("<d", struct.pack("<Q", draw.getrandbits(64)))
    return drawn if math.isfinite(drawn) and drawn != 0 and draw.random() < 0.5 else draw.choice(NUMBERS)


def value(draw: Random, depth: int = 0) -> Any:
    if depth > 4 or draw.random() < 0.5:
        whole = draw.randint(-(2**63), 2**63 - 1)
        return draw.choice([None, True, False, 0.0, whole, whole % 10, number(draw), number(draw), text(draw)])
    if draw.random() < 0.5:
        return [value(draw, depth + 1) for _ in range(draw.randint(0, 4))]
    return {text(draw): value(draw, depth + 1) for _ in range(draw.randint(0, 4))}


def file_list(draw: Random) -> list[dict[str, Any]]:
    names = {f"{draw.choice(NAMES)}{number}" for number in range(4)}
    return [{"name": x, "size": draw.randint(0, 2**40), "sha256": h("x", text(draw))} for x in sorted(names)]


def drawn_genome(draw: Random) -> dict[str, Any]:
    required: dict[str, dict[str, Any]] = {
        "weights": {"kind": "folder", "files": file_list(draw)},
        "tokenizer": {"kind": "none", **({"files": file_list(draw)} if draw.random() < 0.5 else {})},
        "postprocess": {"kind": "embedded"},
        "framework": {"engine": {"name": text(draw), "version": None}},
        "hardware": {"accelerators": []},
    }
    for held in required.values():
        held |= {f"x{text(draw)}": value(draw) for _ in range(3)}
        held["evidence"] = {"driver_version": "535.1", "vbios": text(draw), f"x{text(draw)}": value(draw)}
    bind = draw.choice([[], ["hardware.driver_version"], ["hardware.driver_version", "weights.vbios"]])
    return {"format": "inference-dna/1", **required, **({"bind": bind} if draw.random() < 0.8 else {})}


@pytest.fixture
def draw() -> Random:
    return Random(4)


def test_the_canonical_form(draw: Random) -> None:
    for _ in range(DOCUMENTS):
        drawn = value(draw)
        assert canonical(drawn) == c(drawn)
        assert canonical(parse_json(c(drawn))) == c(drawn)


def test_the_files_digest(draw: Random) -> None:
    for _ in range(DOCUMENTS):
        entries = file_list(draw)
        assert files_digest(parse_files(entries)) == files(entries)


def test_every_digest_of_a_genome_and_its_dna(draw: Random) -> None:
    for _ in range(DOCUMENTS):
        document, input_hash = drawn_genome(draw), draw.choice(["", h("x", "y")])
        ours, theirs = genome(document).digests, digests(document)
        assert {name: getattr(ours, name) for name in theirs} == theirs
        assert ours.dna(input_hash) == dna(theirs, input_hash)


def test_the_hashes_of_inputs(draw: Random) -> None:
    edges = [0, 1, -1, 2**63 - 1, -(2**63), 49151]
    for _ in range(DOCUMENTS):
        ids = [[draw.choice(edges) for _ in range(draw.randint(0, 5))] for _ in range(draw.randint(1, 4))]
        assert hash_tokens(ids) == tokens(ids)
        request = {f"x{text(draw)}": value(draw) for _ in range(3)}
        more = {name: value(draw) for name in draw.sample(NOT_INPUT, 3)}
        assert hash_request(json.dumps(request | more)) == h("input/request", c(request))
