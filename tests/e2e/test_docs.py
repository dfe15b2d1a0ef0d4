"""What the documentation points at exists, and pages stay as short as they promise."""

import re
from pathlib import Path

import pytest

from contracts.terms import Enforcement, Status
from gateway.health.identity import Identity
from gateway.health.liveness import Liveness
from gateway.proxy.problem import TITLES

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")]
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)")
PACKAGES = ("inference_dna", "contracts", "gateway", "worker", "tests", "tools")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_lead_somewhere(page: Path) -> None:
    dead = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]

    assert dead == []


@pytest.mark.parametrize(("page", "lines"), [("README.md", 150), ("README.zh.md", 150), ("docs/architecture.md", 200)])
def test_first_pages_are_short(page: str, lines: int) -> None:
    assert len((REPOSITORY / page).read_text(encoding="utf-8").splitlines()) < lines


def test_the_architecture_names_files_that_exist() -> None:
    text = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.py|(?:[a-z_]+/)+)(?:::\w+)?`", text))
    paths = [path for package in PACKAGES for path in ((REPOSITORY / package), *(REPOSITORY / package).rglob("*"))]
    sources = [str(path.relative_to(REPOSITORY)) for path in paths]

    unknown = [name for name in names if not any(f"/{path}".endswith(f"/{name.rstrip('/')}") for path in sources)]

    assert len(names) > 40
    assert unknown == [], "docs/architecture.md names files that do not exist"


def test_clients_can_look_up_every_code_of_an_error() -> None:
    page = (REPOSITORY / "docs" / "guides" / "clients.md").read_text(encoding="utf-8")

    assert [code for code in TITLES if f"`{code}`" not in page] == []


def test_operators_can_look_up_every_state() -> None:
    page = (REPOSITORY / "docs" / "guides" / "operators.md").read_text(encoding="utf-8")

    assert [state for state in (*Identity, *Liveness, *Status, *Enforcement) if f"`{state}`" not in page] == []


@pytest.mark.parametrize(
    "pair", [("README.md", "README.zh.md"), ("docs/guides/first-steps.md", "docs/guides/first-steps.zh.md")]
)
def test_both_languages_show_the_same_commands(pair: tuple[str, str]) -> None:
    english, chinese = (commands(REPOSITORY / page) for page in pair)

    assert english == chinese
    assert english


def commands(page: Path) -> list[str]:
    """Lines a reader may paste."""
    blocks = re.findall(r"```\w*\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    lines = [line.split("  #")[0].strip() for line in lines]
    return [
        line
        for line in lines
        if line.startswith(("make ", "curl ", "dna ", ".venv/bin/dna ", "cp ", "sed ", "pgrep ", "ls "))
    ]
