"""The HTML page: nothing from outside, nothing that a model wrote acts; in a browser it sorts, filters and plays."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from report_logs import everywhere, known, right, write_run

from lmms_audio_tasks import cli
from lmms_audio_tasks.report import drawing, plots, render_html
from lmms_audio_tasks.report.build import Options, build
from lmms_audio_tasks.report.document import Report
from lmms_audio_tasks.sakura import SPECS, TaskSpec

SCRIPT = {
    "single": everywhere(3),
    "multi": {"gender": 2, "language": 1, "emotion": 0, "animal": 4},
    "text": everywhere(3),
}
PAYLOADS = (
    "<script>document.title='pwned'</script>",
    "</script><script>document.title='pwned'</script>",
    '"><img src=x onerror="document.title=\'pwned\'">',
    "' onmouseover='document.title=1' x='",
    "</div></td></table></body><svg onload=\"document.title='pwned'\">",
    "--><!-- ]]> &lt;b&gt; &amp; \u2028 \x00 <!--<script>",
    "--!><script>document.title='pwned'</script>",
)
VOID = {"meta", "link", "input", "br", "img"}


class Page(HTMLParser):
    """The elements of a page, and whether they are well nested."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.data: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if self.open:
            self.data.setdefault(self.open[-1], []).append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def nasty(spec: TaskSpec, number: int, doc: dict[str, Any]) -> str:
    """Right in the single hop, so that all other responses are listed."""
    return f"{doc['answer']} {PAYLOADS[number % len(PAYLOADS)]}" if spec.hop == "single" else PAYLOADS[number]


@pytest.fixture
def nasty_report(tmp_path: Path) -> Report:
    log = write_run(tmp_path / "log", nasty, model=PAYLOADS[2], model_args=f"x={PAYLOADS[1]}", count=len(PAYLOADS))
    write_run(tmp_path / "more", nasty, model=PAYLOADS[6], count=len(PAYLOADS))
    for path in log.glob("*_samples_*"):
        lines = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
        for line, payload in zip(lines, PAYLOADS, strict=True):
            record = line["accuracy"]
            record |= {"verdict": "correct" if "single" in path.name else "wrong", "chosen": payload, "reason": payload}
            record["groups"]["attribute"] = payload
            record["source"] = payload
            line["input"] = payload
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return build([tmp_path])


def test_nothing_that_a_log_holds_acts(nasty_report: Report) -> None:
    text = render_html.render(nasty_report)
    page = Page(text)
    assert page.open == []
    assert [list(attributes) for attributes in page.named("script")] == [["type", "id"], []]
    assert page.named("img") == []
    handlers = {name for _, attributes in page.elements for name in attributes if name.startswith("on")}
    assert handlers == set()
    shown = "".join(page.data["div"])
    for payload in PAYLOADS:
        assert payload in shown, payload
    # The embedded data give back what was written, though no character in them could end the element.
    embedded = text.split('<script type="application/json" id="report-data">')[1].split("</script>")[0]
    assert not set("<>&") & set(embedded)
    told = json.loads(embedded)
    listed = next(table for table in told["tables"] if table["name"] == "single_right_multi_wrong")
    assert {row["multi_response"] for row in listed["rows"]} == set(PAYLOADS)


def test_the_page_needs_nothing_else(nasty_report: Report, make_sakura, tmp_path: Path) -> None:
    data = make_sakura(4)
    write_run(tmp_path / "own", known(SCRIPT), source=str(data))
    report = build([tmp_path / "own"], options=Options(published=True))
    for page in map(Page, (render_html.render(nasty_report), render_html.render(report, render_html.Audio(tmp_path)))):
        addresses = [
            value
            for _, attributes in page.elements
            for name, value in attributes.items()
            if name in ("src", "href", "xlink:href", "action", "data", "poster", "srcset")
        ]
        assert addresses and all(re.match(r"#|data:,$|data/sakura/", str(address)) for address in addresses)
        style = "".join(page.data["style"])
        assert "url(" not in style and "@import" not in style
        (policy,) = [a["content"] for a in page.named("meta") if a.get("http-equiv") == "Content-Security-Policy"]
        assert str(policy).startswith("default-src 'none'; ") and "http" not in str(policy)


def test_the_policy_allows_the_page_s_own_script(nasty_report: Report) -> None:
    text = render_html.render(nasty_report)
    script = text.rsplit("<script>", 1)[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text


def test_recordings_are_named_relative_to_the_page_or_put_into_it(
    make_sakura, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots, "available", lambda: False)
    data = make_sakura(4)
    odd = "clip #2 &'%.wav"
    (data / "sakura" / "Gender" / "audio" / "clip_2.wav").rename(data / "sakura" / "Gender" / "audio" / odd)
    log = write_run(tmp_path / "log", known(SCRIPT), source=str(data))
    for path in log.glob("*_gender.jsonl"):
        path.write_text(path.read_text("utf-8").replace("gender/clip_2.wav", f"gender/{odd}"), "utf-8")
    report = build([log])
    audios = Page(render_html.render(report, render_html.Audio(tmp_path / "pages"))).named("audio")
    assert len(audios) == 6
    assert audios[0]["src"] == "../data/sakura/Gender/audio/clip%20%232%20%26%27%25.wav"
    assert {audio["preload"] for audio in audios} == {"none"}

    size = (data / "sakura" / "Emotion" / "audio" / "clip_0.wav").stat().st_size
    for room, inside in ((10 * size, 6), (2.5 * size, 2), (0, 0)):
        text = render_html.render(report, render_html.Audio(tmp_path, room / 1e6))
        audios = Page(text).named("audio")
        assert len([audio for audio in audios if "data-clip" in audio]) == inside
        clips = json.loads(text.split('id="clips">')[1].split("</script>")[0])
        assert set(clips) == {audio["data-clip"] for audio in audios if "data-clip" in audio}
        assert all(clip.startswith("data:audio/wav;base64,UklGR") for clip in clips.values())
        assert ("recordings are beyond the" in text) == (inside < 6)


def test_without_matplotlib_the_page_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path, known(SCRIPT))
    monkeypatch.setattr(plots, "available", lambda: False)
    text = render_html.render(build([tmp_path]))
    assert "<svg" not in text
    assert "left out, as matplotlib is not installed (pip install &#x27;lmms-audio-tasks[report]&#x27;)" in text


def test_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    write_run(tmp_path / "a", known(SCRIPT), model="$a_$", count=4)
    write_run(tmp_path / "demo", known(SCRIPT), model="d", source="demo", demo=True)
    page = Page(render_html.render(build([tmp_path])))
    figures = page.named("figure")
    assert len(figures) == 2 + 4 * 2
    assert figures[0]["aria-label"] == (
        "Single-hop against multi-hop: $a_$: single 75.0, multi 43.8; d (demo data): single 75.0, multi 43.8"
    )
    assert "average, $a_$: audio 50.0, text 100.0" in str(figures[1]["aria-label"])
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    # Demo scores alone are not put beside the published systems.
    alone = render_html.render(build([tmp_path / "demo"]))
    assert "Grey: the paper" not in alone


def test_plots_are_the_same_for_the_same_logs(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    write_run(tmp_path, known(SCRIPT), tasks=tuple(name for name in SPECS if "animal" in name))
    assert render_html.render(build([tmp_path])) == render_html.render(build([tmp_path]))


def test_many_systems_in_one_place_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    points = [plots.Point(f"system {n}", 100.0 * (n % 2), 100.0, n, (0.0, 0.0, 0.0, 0.0)) for n in range(60)]
    svg = plots.scatter(points, "x", "y")
    assert svg.startswith("<svg ") and svg.endswith("</svg>")
    looks = {drawing.look(number) for number in range(49)}
    assert len(looks) == 49


# --- in a browser ---

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")


def browse(page: Path, profile: Path, *flags: str) -> str:
    done = subprocess.run(
        [str(BROWSER), *FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def with_script(text: str, code: str) -> str:
    """The page with `code` run after its own script, allowed by the policy just as that is."""
    script = text.rsplit("<script>", 1)[1].split("</script>")[0]
    both = f"{script}\n{code}"
    hashes = [base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in (script, both)]
    return text.replace(hashes[0], hashes[1]).replace(f"<script>{script}</script>", f"<script>{both}</script>")


@needs_browser
def test_in_a_browser_no_payload_runs(nasty_report: Report, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(render_html.render(nasty_report), "utf-8", "replace")
    shown = browse(page, tmp_path / "profile", "--dump-dom", "--virtual-time-budget=3000")
    assert "<title>SAKURA</title>" in shown
    assert len(re.findall(r"<script\b", shown)) == 2
    assert "<img" not in shown


@needs_browser
def test_in_a_browser_tables_sort_and_filter_and_recordings_play(make_sakura, tmp_path: Path) -> None:
    log = write_run(tmp_path / "log", known(SCRIPT), source=str(make_sakura(4)))
    write_run(tmp_path / "log", known({**SCRIPT, "multi": everywhere(2)}), model="b", date="20260101_120001")
    report = build([log], options=Options(published=True))
    code = """
    const told = {};
    const column = (table, title, group) => [...document.querySelectorAll(`#t-${table} .titles button`)]
      .filter((button) => button.textContent === title)[group || 0];
    const first = (table) => [...document.getElementById(`t-${table}`).tBodies[0].rows]
      .filter((row) => !row.hidden).map((row) => row.cells[0].textContent);
    column("accuracy", "Multi", 4).click();
    told.down = first("accuracy");
    column("accuracy", "Multi", 4).click();
    told.up = first("accuracy");
    column("accuracy", "Multi", 0).click();
    told.empty = first("accuracy").at(-1);
    const input = document.querySelector("[data-for=t-accuracy]");
    input.value = "PUBLISHED qwen";
    input.dispatchEvent(new Event("input"));
    told.filtered = first("accuracy").sort();
    told.count = document.querySelector("[data-count=t-accuracy]").textContent;
    document.addEventListener("securitypolicyviolation", (event) => { told.violation = event.violatedDirective; });
    const players = [...document.querySelectorAll("audio")];
    told.kinds = players.map((player) => player.src.slice(0, 5)).sort();
    let left = players.length;
    for (const player of players) {
      const done = (what) => () => {
        told[what] = (told[what] || 0) + 1;
        if (--left === 0) document.title = JSON.stringify(told);
      };
      player.addEventListener("loadedmetadata", done("loaded"));
      player.addEventListener("error", done("failed"));
      player.preload = "metadata";
      player.load();
    }
    """
    text = render_html.render(report, render_html.Audio(tmp_path, 0.05))
    page = tmp_path / "page.html"
    page.write_text(with_script(text, code), "utf-8")
    shown = browse(page, tmp_path / "profile", "--dump-dom", "--timeout=120000")
    told = json.loads(re.search(r"<title>(.*?)</title>", shown)[1])  # type: ignore[index]
    multi = {row.keys["system"]: row.get("accuracy") for row in report.table("accuracy").rows if _average(row)}  # type: ignore[union-attr]
    by_score = sorted(multi, key=lambda system: multi[system], reverse=True)
    assert told["down"] == by_score
    assert [multi[system] for system in told["up"]] == sorted(multi.values())  # type: ignore[type-var]
    assert told["empty"] == "GPT-4o Audio"  # has no gender track; nothing comes last
    assert told["filtered"] == ["Qwen-Audio-Chat", "Qwen2-Audio-Instruct"]
    assert told["count"] == f"2 of {len(multi)} lines"
    assert set(told["kinds"]) == {"data:", "file:"}
    assert (told["loaded"], told.get("failed"), told.get("violation")) == (len(told["kinds"]), None, None)


def _average(row: Any) -> bool:
    return row.keys["track"] == "average" and row.keys["hop"] == "multi"


@needs_browser
def test_in_a_browser_the_page_fits_its_window(tmp_path: Path) -> None:
    write_run(tmp_path / "log", known(SCRIPT), model="a-model-with-a-rather-long-name-that-cannot-be-broken-anywhere")
    text = render_html.render(build([tmp_path / "log"], options=Options(published=True)))
    code = "document.title = `${document.documentElement.scrollWidth} ${innerWidth} ${document.images.length}`;"
    page = tmp_path / "page.html"
    page.write_text(with_script(text, code), "utf-8")
    for width in (500, 1400):
        flags = (f"--window-size={width},900", f"--screenshot={tmp_path / 'shot.png'}")
        shown = browse(page, tmp_path / f"profile{width}", "--dump-dom", *flags)
        content, window, _ = re.search(r"<title>(.*?)</title>", shown)[1].split()  # type: ignore[index]
        assert int(content) <= int(window), f"the page is wider than a window of {width}"


def test_the_command_writes_the_page(make_sakura, tmp_path: Path) -> None:
    log = write_run(tmp_path / "log", lambda spec, n, doc: right(doc) if spec.hop == "single" else "?", source="/data")
    data = make_sakura(4)
    page = tmp_path / "page.html"
    assert cli.main(["report", str(log), "--data", str(data), "-o", str(page), "--embed-audio", "1"]) == 0
    text = page.read_text("utf-8")
    assert len(json.loads(text.split('id="clips">')[1].split("</script>")[0])) == 16
