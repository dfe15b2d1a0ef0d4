"""`dna contract enroll`: ask running workers what they are, show it, and write what is agreed to into the contract."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import httpx
import typer

from contracts.address import AddressError, health_address, parse_address
from contracts.contract import Contract, parse_contract
from contracts.faults import DocumentRefused
from gateway.cli.get import document_key, held_document
from gateway.cli.options import Manner
from gateway.cli.output import FAILED, FINDINGS, WRONG_USAGE, Stop, lines
from gateway.cli.places import open_place, settings
from gateway.cli.propose import reached, write_documents
from gateway.control.catalogue import version_key
from gateway.edits.addresses import addresses_of, instance_id
from gateway.edits.enrolling import FINGERPRINTS, Candidate, Stated, candidates, entries
from gateway.edits.place import Change, Holding
from gateway.edits.text import edited
from gateway.worker_tls import CertificatesUnreadable, worker_tls
from inference_dna.observation import NO_ANSWER, Observation

_AT_ONCE = 32
_FINGERPRINT_SHOWN = 12


def enroll(model: str, version: str, manner: Manner, *, instances: Sequence[str]) -> None:
    """Write the DNA of running workers into a contract.

    Args:
        model: Model id.
        version: Its version.
        manner: How.
        instances: Base URLs to ask; those of the contract where none is given.

    Raises:
        Stop: Nobody answers, or nothing of what answers may be enrolled; or as `write_documents`.
    """
    key = document_key("contract", model, version)

    def propose(holding: Holding) -> Sequence[Change]:
        held = held_document(holding, key)
        try:
            contract = parse_contract(held.text)
        except DocumentRefused as refused:
            raise Stop(f"{key} cannot be changed before it is mended: {refused}", FINDINGS) from refused
        found = candidates(contract, _ask_all(contract, _urls(contract, manner.source, instances)))
        _print_genomes(found)
        new = [one for one in found if one.is_new]
        if not new and any(one.refusal for one in found):
            raise Stop("nothing was written: no instance can be enrolled that is not yet", FAILED)
        if not new:
            return []
        return [Change(key, held, edited(held.text, lambda document: _add(document, entries(new))))]

    write_documents(manner, propose)


def _add(document: dict[str, Any], made: Iterable[Mapping[str, Any]]) -> None:
    document["dna"] = [*(document.get("dna") or []), *made]


def _urls(contract: Contract, source: str | None, given: Sequence[str]) -> Sequence[str]:
    if given:
        try:
            return [parse_address(url).url for url in given]
        except AddressError as error:
            raise Stop(f"--instance: {error}", WRONG_USAGE) from error
    place = open_place(source)
    urls = reached(lambda: addresses_of(place, [contract]))[version_key(contract)]
    if not urls:
        named = f"the service {contract.service} lists none" if contract.service else "the contract lists none"
        raise Stop(f"there is no instance to ask: {named}; name them by --instance URL", WRONG_USAGE)
    return urls


def _ask_all(contract: Contract, urls: Sequence[str]) -> list[Stated]:
    try:
        tls = worker_tls(settings().worker_ca_file)
    except CertificatesUnreadable as error:
        raise Stop(str(error), WRONG_USAGE) from error
    return asyncio.run(_answers(contract, urls, tls))


async def _answers(contract: Contract, urls: Sequence[str], tls: ssl.SSLContext) -> list[Stated]:
    turn = asyncio.Semaphore(_AT_ONCE)
    async with httpx.AsyncClient(verify=tls, timeout=settings().probe_timeout_s, trust_env=False) as client:

        async def asked(url: str) -> Stated:
            async with turn:
                return await _ask(client, url, health_address(contract.health_url, parse_address(url)))

        return await asyncio.gather(*map(asked, urls))


async def _ask(client: httpx.AsyncClient, url: str, health: str) -> Stated:
    name = instance_id(url)
    try:
        # httpx counts time per read: a worker that trickles its answer would hold this for ever.
        async with asyncio.timeout(2 * settings().probe_timeout_s), client.stream("GET", health) as answer:
            body = await _read(answer, settings().probe_max_body)
    except (httpx.HTTPError, TimeoutError) as error:
        return Stated(name, NO_ANSWER, {}, f"no answer from {health}: {str(error) or type(error).__name__}")
    if body is None:
        return Stated(name, NO_ANSWER, {}, f"{health} answers with more than a health page may have")
    observation = Observation.from_healthz(answer.status_code, answer.headers.multi_items(), body)
    failure = "" if answer.status_code == httpx.codes.OK else f"{health} answered with status {answer.status_code}"
    return Stated(name, observation, _members(body), failure)


async def _read(answer: httpx.Response, most: int) -> bytes | None:
    body = bytearray()
    async for piece in answer.aiter_bytes():
        body += piece
        if len(body) > most:
            return None
    return bytes(body)


def _members(body: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _print_genomes(found: Sequence[Candidate]) -> None:
    """Show what each instance says it is; to standard error, what is written goes to standard output."""
    heading = ("INSTANCE", "DNA", "DIGEST", "ASSURANCE", "MODEL", "TOKENIZER", "POSTPROCESS", "STANDING")
    for line in lines([heading, *map(_row, found)]):
        typer.echo(line, err=True)


def _row(one: Candidate) -> tuple[str, ...]:
    seen = one.stated.observation
    standing = one.refusal or ("accepted already" if one.is_known else "new")
    digest = (seen.digest or "-").removeprefix("sha256:")[:_FINGERPRINT_SHOWN]
    prints = (
        str(one.stated.body.get(name) or "-").removeprefix("sha256:")[:_FINGERPRINT_SHOWN] for name in FINGERPRINTS
    )
    return (one.stated.instance, seen.dna or "-", digest, seen.assurance or "-", *prints, standing)
