"""`dna digest`: every digest of a genome document."""

from __future__ import annotations

from pathlib import Path

from gateway.cli.files import read_bytes
from gateway.cli.output import WRONG_USAGE, Format, Stop, print_as, print_table
from inference_dna.canonical import Refused
from inference_dna.digest import HEX_LENGTH, is_hex
from inference_dna.report import digest_report


def print_digests(genome: Path, *, input_hash: str, output: Format) -> None:
    """Print the five section digests, `stack`, `artifact`, `runtime` and `dna`.

    Raises:
        Stop: The genome or the input hash is refused.
    """
    if input_hash and not is_hex(input_hash, HEX_LENGTH):
        raise Stop(
            "--input-hash takes 64 of 0-9 a-f, as the log and X-Inference-Input-Hash of a worker have it", WRONG_USAGE
        )
    try:
        report = digest_report(read_bytes(genome), input_hash)
    except Refused as refused:
        raise Stop(f"{genome}: {refused}") from refused
    if output is not Format.TABLE:
        print_as(output, report)
    else:
        print_table(("NAME", "DIGEST"), report.items())
