"""`dna contract sign`: documents with the signature that gateways with GATEWAY_CONTRACT_KEYS ask for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from gateway.cli.files import STANDARD_INPUT
from gateway.cli.given import Finding, given_files, read_given
from gateway.cli.lint import print_findings
from gateway.cli.output import FINDINGS, WRONG_USAGE, Format, Stop
from gateway.cli.propose import signed_text
from inference_dna.canonical import Refused
from inference_dna.making.whole_file import write_whole


def sign_documents(files: Sequence[Path], key: Path, *, passphrase_file: Path | None) -> None:
    """Sign documents in place; `-` goes from standard input to standard output.

    Raises:
        Stop: One is no good document, the key cannot be used, or a file cannot be written.
    """
    if any(path != STANDARD_INPUT and path.is_dir() for path in files):
        raise Stop("name the files to sign, not a folder: what is signed is what somebody looked at", WRONG_USAGE)
    findings: list[Finding] = []
    texts = list(given_files(files))
    if {one.name for one in texts} != set(map(str, files)):
        raise Stop("name files that hold one document each; write an export out first: dna contract get", WRONG_USAGE)
    documents = list(read_given(texts, findings=findings, strange=False))
    if findings:
        print_findings(findings, Format.TABLE)
        raise Stop("nothing was signed: a document must be good first", FINDINGS)
    for one in documents:
        text = signed_text(one.key.kind, one.text, key, passphrase_file).decode()
        try:
            write_whole(Path(one.file), text)
        except Refused as refused:
            raise Stop(str(refused)) from refused
        typer.echo(f"signed: {one.file} ({one.key})", err=True)
