from __future__ import annotations

from xml.etree import ElementTree

from bench.report.picture import picture
from bench.results import Comparison

SVG = "{http://www.w3.org/2000/svg}"


def test_bars_stand_in_proportion_and_the_row_without_a_proxy_is_left_out(comparison: Comparison) -> None:
    root = ElementTree.fromstring(picture(comparison))
    bars = [float(rect.get("width", "0")) for rect in root.iter(f"{SVG}rect") if rect.get("y")]
    words = [text.text for text in root.iter(f"{SVG}text")]

    assert len(bars) == 3 * 4
    assert round(bars[1] / bars[0], 2) == 2.0
    assert "requests/s on one core, 1 connection" in words
    assert "direct" not in words
