"""The HTML report in a real browser: opened from a file, without a network."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from envsync.render.digest import digest
from envsync.render.webpage import webpage

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
LEAST_CONTRAST = 4.5
"""WCAG 2.1, success criterion 1.4.3."""

MEASURE = """
<script>
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
const light = colour => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b] = Array.from(canvas.getImageData(0, 0, 1, 1).data, v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = node => {
  for (; node; node = node.parentElement) {
    const colour = getComputedStyle(node).backgroundColor;
    if (colour !== "rgba(0, 0, 0, 0)") return colour;
  }
  return "white";
};
const contrasts = {};
const texts = "h1, h2, p, th, td, .mark, li, li b, i, summary b, button, code";
for (const node of document.querySelectorAll(texts)) {
  const [a, b] = [getComputedStyle(node).color, behind(node)].map(light);
  const found = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const name = node.localName + "." + node.className;
  contrasts[name] = Math.min(found, contrasts[name] ?? 99);
}
const wide = document.documentElement.scrollWidth - innerWidth;
document.title = JSON.stringify({contrasts, wide, back: light(behind(document.body))});
</script>
"""
CLICK = """
<script>document.querySelector('button[data-find="failed"]').click();</script>
"""


def record(nodes: int) -> dict[str, Any]:
    """The synthetic run of the benchmark."""
    text = f"import report, json; report.NODES = {nodes}; print(json.dumps(report.record()))"
    done = subprocess.run(
        [sys.executable, "-c", text],
        cwd=BENCHMARKS,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def browse(page: Path, *words: str, fragment: str = "") -> str:
    """What chromium prints. As root it runs in a network namespace that has nothing in it."""
    chromium = shutil.which("chromium")
    assert chromium, "tests/need.py --long installs it"
    alone = ["unshare", "--net"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [
            *alone, chromium, "--headless", "--no-sandbox", "--disable-gpu",
            "--disable-dev-shm-usage", f"--user-data-dir={page.parent / 'profile'}",
            "--window-size=1400,900", *words, f"{page.as_uri()}{fragment}",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


class Shown(HTMLParser):
    """Nodes whose rows are not hidden, and the text beside the filter."""

    def __init__(self, dom: str) -> None:
        super().__init__()
        self.nodes: list[str] = []
        self.said = 0
        self._hidden = False
        self._head = False
        self.feed(dom)
        self.count = re.search(r'id="shown"[^>]*>([^<]*)<', dom)[1]  # type: ignore[index]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "tr":
            self._hidden = "hidden" in found
            self.said += found.get("class") == "said" and not self._hidden
        self._head = tag == "th" and found.get("scope") == "row" and not self._hidden

    def handle_data(self, data: str) -> None:
        if self._head and data.startswith("gpu"):
            self.nodes.append(data)
        self._head = False


@pytest.fixture(scope="module")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("page") / "verify.html"
    page.write_text(webpage(digest(record(1000))))
    return page


def with_script(page: Path, script: str) -> Path:
    other = page.with_name("scripted.html")
    other.write_text(page.read_text().replace("</body>", f"{script}</body>"))
    return other


def test_page_of_a_thousand_nodes_shows_all(thousand: Path) -> None:
    shown = Shown(browse(thousand, "--dump-dom"))
    assert (len(shown.nodes), shown.count) == (1000, "1000 of 1000 shown")
    assert "What differs between the nodes" in thousand.read_text()


@pytest.mark.parametrize(
    ("fragment", "count"),
    [("#gpu0420", 1), ("#gpu00%20drifted", 10), ("#nothing%20listens", 10), ("#nobody", 0)],
)
def test_filter_leaves_only_what_fits(thousand: Path, fragment: str, count: int) -> None:
    shown = Shown(browse(thousand, "--dump-dom", fragment=fragment))
    assert (len(shown.nodes), shown.count) == (count, f"{count} of 1000 shown")


def test_fragment_that_is_no_text_filters_nothing(thousand: Path) -> None:
    assert len(Shown(browse(thousand, "--dump-dom", fragment="#%E0%A4%A")).nodes) == 1000


def test_button_of_a_result_leaves_its_nodes_with_what_is_said_of_them(thousand: Path) -> None:
    shown = Shown(browse(with_script(thousand, CLICK), "--dump-dom"))
    assert shown.nodes == [f"gpu{number:04}" for number in range(99, 1000, 100)]
    assert shown.said == 10


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("nodes", [8, 1000])
def test_page_can_be_read_in_the_light_and_in_the_dark(
    tmp_path: Path, nodes: int, *, dark: bool
) -> None:
    page = tmp_path / "verify.html"
    page.write_text(webpage(digest(record(nodes))))
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    dom = browse(with_script(page, MEASURE), scheme, "--dump-dom")
    found = json.loads(re.search(r"<title>(.*?)</title>", dom)[1])  # type: ignore[index]
    assert (found["back"] < 0.1) == dark
    assert found["wide"] <= 0, "the page itself scrolls sideways"
    assert {k: v for k, v in found["contrasts"].items() if v < LEAST_CONTRAST} == {}
    picture = tmp_path / "page.png"
    browse(page, scheme, f"--screenshot={picture}")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000, "an empty page is smaller"
