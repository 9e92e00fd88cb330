"""Every failure mode has a page, and the page has everything."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mastwatch import taxonomy

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/modes"
PAGES = [*FOLDER.glob("*.md"), ROOT / "docs/alerts.md", ROOT / "docs/dashboards.md"]
SECTIONS = ["What it is", "An example", "How mastwatch sees it", "Likely causes", "What helps"]


def test_there_is_a_page_for_each_mode_and_none_beside() -> None:
    pages = {path.stem for path in FOLDER.glob("*.md")}
    assert pages == {mode.slug for mode in taxonomy.MODES} | {"index"}


@pytest.mark.parametrize("mode", taxonomy.MODES, ids=lambda mode: mode.code)
def test_a_page_has_all_its_parts(mode) -> None:
    text = (FOLDER / f"{mode.slug}.md").read_text()
    assert f"# {mode.code} {mode.name}\n" in text
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    assert parts[1::2] == SECTIONS
    assert all(len(part.split()) > 12 for part in parts[2::2])
    example = dict(zip(parts[1::2], parts[2::2], strict=True))["An example"]
    assert len(example.strip().splitlines()) in (3, 4)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target
