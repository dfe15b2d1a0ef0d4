"""The binary tensor extension of the Open Inference Protocol: texts as bytes behind the JSON. Pure.

Of a tensor `BYTES` each element is its length, four bytes with the lowest first, and then its bytes
(`binary_tensor_data` of Triton's protocol extensions). tritonclient sends its tensors this way unless told otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

from worker.fault import FieldFault, RequestRefused

JSON_LENGTH = "Inference-Header-Content-Length"
"""The header that says how many bytes of the body are the JSON."""
DATA_FIELD = "inputs.0.data"
_LENGTH_BYTES = 4


def split_body(body: bytes, json_length: str | None) -> tuple[bytes, bytes]:
    """Take the JSON and the bytes behind it apart.

    Args:
        body: The request's.
        json_length: What the header says; None where it is not there: all of it is JSON.

    Raises:
        RequestRefused: The header is no number, or says more than there is.
    """
    if json_length is None:
        return body, b""
    if not (
        json_length.isascii() and json_length.isdigit() and len(json_length) < 10 and int(json_length) <= len(body)
    ):
        fault = f"must say how many of the body's {len(body)} bytes are the JSON"
        raise RequestRefused([FieldFault(JSON_LENGTH, fault)])
    return body[: int(json_length)], body[int(json_length) :]


def read_texts(data: bytes) -> tuple[str, ...]:
    """Read the texts of a tensor.

    Raises:
        RequestRefused: Lengths and bytes do not add up, or an element is no UTF-8.
    """
    try:
        return tuple(element.decode() for element in _elements(data))
    except UnicodeDecodeError as error:
        raise RequestRefused([FieldFault(DATA_FIELD, "holds bytes that are no UTF-8")]) from error


def _elements(data: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(data):
        begin = place + _LENGTH_BYTES
        place = begin + int.from_bytes(data[place:begin], "little")
        if place > len(data) or begin > len(data):
            fault = "must hold elements that are each a length of four bytes and as many bytes"
            raise RequestRefused([FieldFault(DATA_FIELD, fault)])
        yield data[begin:place]
