"""`dna drain` and `undrain`: take one instance out of rotation, on every gateway that reads the same documents.

The wish is written into the contracts that the instance belongs to (`draining`): so it reaches every gateway, survives
their restarts, and its history says who wished it and why.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from contracts.contract import Contract
from gateway.cli.given import own_key
from gateway.cli.options import Manner
from gateway.cli.output import WRONG_USAGE, Stop
from gateway.cli.places import open_place, trusted_signers
from gateway.cli.propose import reached, write_documents
from gateway.control.catalogue import version_key
from gateway.edits.addresses import addresses_of, instance_id, named_instance
from gateway.edits.check import check
from gateway.edits.place import Change, Holding
from gateway.edits.text import Edit, edited, quoted_text

MEMBER = "draining"
_SHOWN = 20


def drain(instance: str, manner: Manner) -> None:
    """Send an instance no new requests; those under way finish.

    Raises:
        Stop: No contract has such an instance; or as `write_documents`.
    """
    name = named_instance(instance)

    def propose(holding: Holding) -> Sequence[Change]:
        known = _contracts_by_instance(holding, manner.source)
        if name not in known:
            listed = f"there are {', '.join(sorted(known)[:_SHOWN])}" if known else "none is known here"
            raise Stop(f"no contract has an instance {name}; {listed}", WRONG_USAGE)
        changing = [contract for contract in known[name] if name not in contract.draining]
        return [_changed(holding, contract, lambda document: _add(document, name)) for contract in changing]

    write_documents(manner, propose)
    if not manner.dry_run:
        typer.echo("no gateway that reads these documents sends it new requests; those under way finish", err=True)


def undrain(instance: str, manner: Manner) -> None:
    """Let an instance have requests again; it serves as soon as it is verified and up.

    Raises:
        Stop: No contract has it drained; or as `write_documents`.
    """
    name = named_instance(instance)

    def propose(holding: Holding) -> Sequence[Change]:
        contracts = _contracts(holding)
        changing = [contract for contract in contracts if name in contract.draining]
        if not changing:
            drained = sorted({one for contract in contracts for one in contract.draining})
            listed = f"drained are {', '.join(drained[:_SHOWN])}" if drained else "none is drained"
            raise Stop(f"no contract has {name} drained; {listed}", WRONG_USAGE)
        return [_changed(holding, contract, lambda document: _remove(document, name)) for contract in changing]

    write_documents(manner, propose)


def _contracts(holding: Holding) -> Sequence[Contract]:
    return tuple(check(holding, (), trusted_signers()).before.contracts.values())


def _contracts_by_instance(holding: Holding, source: str | None) -> Mapping[str, Sequence[Contract]]:
    contracts, place = _contracts(holding), open_place(source)
    addresses = reached(lambda: addresses_of(place, contracts))
    found: defaultdict[str, list[Contract]] = defaultdict(list)
    for contract in contracts:
        for url in addresses[version_key(contract)]:
            found[instance_id(url)].append(contract)
    return found


def _changed(holding: Holding, contract: Contract, edit: Edit) -> Change:
    held = holding.documents[str(own_key(contract))]
    return Change(held.key, held, edited(held.text, edit))


def _add(document: dict[str, Any], name: str) -> None:
    document[MEMBER] = [*(document.get(MEMBER) or []), quoted_text(name)]


def _remove(document: dict[str, Any], name: str) -> None:
    document[MEMBER] = [one for one in document[MEMBER] if one != name]
    if not document[MEMBER]:
        del document[MEMBER]
