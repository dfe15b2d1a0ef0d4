from __future__ import annotations

import pytest

from bench.report.page import PageError, markdown, replaced
from bench.report.sheet import Sheet

PAGE = (
    "intro\n<!-- bench:growth -->\nold\nold\n<!-- /bench -->\nbetween\n<!-- bench:profile -->\nkept\n<!-- /bench -->\n"
)


def test_only_the_named_part_is_replaced() -> None:
    text = replaced(PAGE, "growth", "new \\1\n")

    assert text == PAGE.replace("old\nold\n", "new \\1\n")
    assert replaced(text, "growth", "old\nold\n") == PAGE


def test_a_page_without_the_marker_is_refused() -> None:
    with pytest.raises(PageError, match="bench:comparison"):
        replaced(PAGE, "comparison", "new\n")


def test_a_table_has_its_figures_on_the_right() -> None:
    sheet = Sheet("Memory", ("proxy", "MiB"), (("nginx", "17"),))

    assert markdown(sheet) == "**Memory**\n\n| proxy | MiB |\n| --- | ---: |\n| nginx | 17 |\n"
