"""`dna receipt verify`: what the receipt of one answer proves, offline."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import typer

from gateway.cli.files import read_bytes
from gateway.cli.output import FAILED, FINDINGS, WRONG_USAGE, Format, Stop, print_as
from inference_dna.canonical import Refused
from inference_dna.serving.http_head import read_head
from inference_dna.serving.receipt import HEADER
from inference_dna.serving.receipt_check import Answer, Checked, Expected, Outcome, check_receipt
from inference_dna.trust.keys import TrustedKey, parse_keys, read_public_key

_CODES = {Outcome.VALID: 0, Outcome.INVALID: FAILED, Outcome.UNVERIFIED: FINDINGS}


def verify_receipt(
    body: Path,
    *,
    head: Path,
    receipt: str | None,
    keys: Sequence[Path],
    trust: Path | None,
    request: Path | None,
    nonce: str | None,
    output: Format,
) -> None:
    """Judge the receipt of an answer that was saved with `curl -D HEAD -o BODY`.

    Raises:
        Stop: With 1 where the receipt is invalid, with 3 where nothing is proven.
    """
    if not keys and trust is None:
        raise Stop("say whom you trust: --key FILE or --trust FILE", WRONG_USAGE)
    try:
        status, headers = read_head(read_bytes(head))
        stated = headers if receipt is None else {**headers, HEADER: receipt}
        answer = Answer(stated, read_bytes(body), status)
        expected = Expected(None if request is None else read_bytes(request), nonce)
        checked = check_receipt(answer, _trusted(keys, trust), now=datetime.now(UTC), expected=expected)
    except Refused as refused:
        raise Stop(str(refused)) from refused
    _print(checked, output)
    if checked.outcome is not Outcome.VALID:
        raise Stop(code=_CODES[checked.outcome])


def _trusted(keys: Sequence[Path], trust: Path | None) -> list[TrustedKey]:
    trusted = [read_public_key(read_bytes(path)) for path in keys]
    return trusted if trust is None else [*trusted, *parse_keys(read_bytes(trust))]


def _print(checked: Checked, output: Format) -> None:
    if output is not Format.TABLE:
        print_as(output, {"outcome": checked.outcome, "reason": checked.reason, "receipt": checked.payload})
    else:
        typer.echo(f"{checked.outcome}: {checked.reason}")
