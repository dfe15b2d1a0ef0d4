from pathlib import Path

from contracts.contract import parse_contract
from contracts.key import parse_key
from contracts.route import parse_route
from tools.demo.documents import CANARY, CANARY_PERCENTAGE, MODEL, STABLE, STICKY_HEADER, contract, write_documents

ACCEPTED = {"digest": "sha256:" + "ab" * 32, "label": "this machine"}


def written(folder: Path) -> dict[str, bytes]:
    document = contract(STABLE, accepted=[ACCEPTED], instances=["http://127.0.0.1:9000"])
    write_documents(folder, [document])
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_contract_is_one_under_its_key(tmp_path: Path) -> None:
    text = written(tmp_path)[f"contracts/{MODEL}/{STABLE}.json"]

    contract = parse_contract(text, key=parse_key(f"contracts/{MODEL}/{STABLE}"))

    assert contract.instances == ("http://127.0.0.1:9000",)
    assert contract.dna[0].digest == ACCEPTED["digest"]
    assert contract.warnings == ()


def test_the_route_is_one_and_says_what_the_tour_relies_on(tmp_path: Path) -> None:
    text = written(tmp_path)[f"routes/{MODEL}.yaml"]

    route = parse_route(text, key=parse_key(f"routes/{MODEL}"))

    assert str(route.sticky) == f"header:{STICKY_HEADER.lower()}"
    [rule] = route.canary_rules
    assert (str(rule.version), rule.traffic_percentage) == (CANARY, CANARY_PERCENTAGE)
    assert route.warnings == ()
