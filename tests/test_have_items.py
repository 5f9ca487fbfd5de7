"""HAVE-Bench's items: every fault of a line is told with what was expected and what came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from have_data import OPEN, default_items, item, make, write_items
from PIL import Image, ImageFile

from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.have_bench.items import Read, read_items
from lmms_audio_tasks.have_bench.lines import SCHEMAS, json_objects, schema_faults
from lmms_audio_tasks.have_bench.media import Media

CASES = json.loads((Path(__file__).parent / "data" / "have_item_faults.json").read_text("utf-8"))


def read(root: Path, decode: bool = True) -> Read:
    folder = root / "have_bench"
    return read_items(folder, Media(folder, decode))


def test_a_sound_file_has_no_faults(tmp_path: Path) -> None:
    found = read(make(tmp_path))
    assert found.faults == ()
    assert [one.id for one in found.items] == ["p1", "p2", "p3", "p4", "r1", "r2", "r3"]
    assert found.ids == {one.id: one.line for one in found.items}
    assert [one.line for one in found.items] == [1, 2, 3, 4, 5, 6, 7]


def test_an_item_as_it_is_read(tmp_path: Path) -> None:
    line = item("x", question=" Which one? ", choices=["a dog ", "a cat"], answer="a cat", transcript="Which one?")
    (found,) = read(make(tmp_path, [line])).items
    assert (found.question, found.choices, found.transcript, found.asr) == (
        "Which one?",
        ("a dog", "a cat"),
        "Which one?",
        None,
    )
    assert found.options == ("(a) a dog", "(b) a cat")
    assert found.golden == "(b) a cat"
    assert found.written == "Which one?\n(a) a dog\n(b) a cat"
    (found,) = read(make(tmp_path, [item("x", **OPEN)])).items
    assert (found.options, found.golden, found.written) == ((), "a red kite", "What is it, x?")


@pytest.mark.parametrize("case", CASES, ids=[case["why"] for case in CASES])
def test_faults(case: dict[str, Any], tmp_path: Path) -> None:
    line = {key: value for key, value in item("x").items() if key not in case.get("drop", ())} | case.get("change", {})
    root = make(tmp_path, [item("sound"), line])
    found = read(root)
    (fault,) = found.faults
    assert (fault.expected, fault.found) == (case["expected"], case["found"])
    assert (fault.file, fault.row) == (str(root / "have_bench" / "items.jsonl"), "line 2")
    assert "\n" not in str(fault)
    assert [one.id for one in found.items] == ["sound"]


def test_all_faults_of_all_lines_are_told_in_order(tmp_path: Path) -> None:
    bad = item("b", level="interaction", subtask="Nope", images=["/a"])
    lines = [item("a", audios=["audio/no.wav"]), bad, item("a"), "not json", item("c", answer="a cow")]
    found = read(make(tmp_path, lines))
    told = [(fault.row, fault.expected.partition(" ")[0]) for fault in found.faults]
    assert sorted(told) == [
        ("line 1", "a"),
        ("line 2", "images[0]"),
        ("line 2", "level"),
        ("line 2", "subtask"),
        ("line 3", "each"),
        ("line 4", "a"),
        ("line 5", "answer"),
    ]
    assert [row for row, _ in told] == sorted(row for row, _ in told)
    assert "'a' again, first in line 1" in str(found.faults[4])
    assert found.ids == {"a": 1, "b": 2, "c": 5}


# --- lines ---


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"id": "x"', "Expecting ',' delimiter in column 11"),
        (b"[1, 2]", "[1, 2]"),
        (b'"text"', "'text'"),
        (b'{"a": 1, "a": 2}', "the key 'a' twice or more"),
        (b'{"a": {"b": 1, "b": 2}}', "the key 'b' twice or more"),
        (b'{"a": NaN}', "NaN, which is no JSON"),
        (b'{"a": "\xff"}', "byte 0xff in column 8"),
        (b'\xef\xbb\xbf{"a": 1}', "a byte order mark"),
        (b"[" * 100_000, "deep nesting"),
    ],
)
def test_a_line_that_is_no_object(line: bytes, found: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"sound": true}\n\n' + line + b"\n")
    sound, bad = json_objects(path)
    assert sound == (1, {"sound": True})
    assert bad[0] == 3 and isinstance(bad[1], DataError)
    assert (bad[1].expected, bad[1].found, bad[1].row) == ("a JSON object in UTF-8", found, "line 3")


@pytest.mark.parametrize(
    ("content", "found"),
    [(None, "found no such file"), (b"", "found an empty file"), (b"\n \n", "found an empty file")],
)
def test_a_file_without_lines(content: bytes | None, found: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    if content is not None:
        path.write_bytes(content)
    ((number, fault),) = json_objects(path)
    assert number == 0 and isinstance(fault, DataError) and found in str(fault)
    ((number, fault),) = json_objects(tmp_path)
    assert isinstance(fault, DataError) and "a file that can be read" in str(fault)


def test_the_schemas_are_schemas() -> None:
    from jsonschema import Draft202012Validator

    for path in SCHEMAS.glob("*.schema.json"):
        Draft202012Validator.check_schema(json.loads(path.read_text("utf-8")))


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        ({"const": 3}, 4, "x to be 3"),
        ({"maxItems": 1}, [1, 2], "x to be a list of at most 1"),
        ({"uniqueItems": True}, [1, 1], "x to be a list with each entry once"),
        ({"minLength": 1}, "", "x to be a text that is not empty"),
        ({"minLength": 2}, "a", "x to be a text of at least 2 characters"),
        ({"minimum": 1}, 0, "x to be at least 1"),
        ({"exclusiveMinimum": 1}, 1, "x to be more than 1"),
        ({"maximum": 1}, 2, "x to be at most 1"),
        ({"type": ["integer", "null"]}, "a", "x to be a whole number or null"),
        ({"multipleOf": 2}, 3, "x to be as the schema's multipleOf has it: 2"),
        ({"properties": {"y": {}}, "additionalProperties": False}, {"z": 1}, "only the keys y in x"),
        ({"required": ["y"]}, {"z": 1}, "the key y in x"),
    ],
)
def test_rules_without_a_title_are_told_in_words(
    rule: dict[str, Any], value: Any, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lmms_audio_tasks.have_bench import lines

    name = f"case{abs(hash(expected))}"
    monkeypatch.setattr(lines, "SCHEMAS", tmp_path)
    (tmp_path / f"{name}.schema.json").write_text(json.dumps({"properties": {"x": rule}}), "utf-8")
    (fault,) = schema_faults(Path("f"), 1, {"x": value}, name)
    assert fault.expected == expected


# --- media ---


@pytest.mark.parametrize("lenient", [False, True])
def test_media_that_do_not_decode(lenient: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Some modules of the host's ask Pillow to be lenient, for the whole process.
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", lenient)
    root = make(tmp_path, [item("x", "AaC", images=["images/cut.png"], audios=["audio/cut.flac"])])
    folder = root / "have_bench"
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 255, (64, 64, 3), "uint8")).save(folder / "images" / "cut.png")
    whole = (folder / "images" / "cut.png").read_bytes()
    (folder / "images" / "cut.png").write_bytes(whole[: len(whole) // 2])
    noise = rng.uniform(-0.5, 0.5, 16_000)
    soundfile.write(folder / "audio" / "cut.flac", noise, 16_000)
    cut = (folder / "audio" / "cut.flac").read_bytes()
    (folder / "audio" / "cut.flac").write_bytes(cut[: len(cut) // 2])
    picture, recording = read(root).faults
    assert picture.expected == "a picture that can be decoded" and "images/cut.png" in picture.found
    assert recording.expected == "a recording that can be decoded" and "audio/cut.flac" in recording.found
    assert lenient is ImageFile.LOAD_TRUNCATED_IMAGES


def test_what_is_no_picture_or_recording_shows_in_the_headers(tmp_path: Path) -> None:
    root = make(tmp_path, [item("x", "AaC", images=["audio/one.wav"], audios=["images/one.png"])])
    for decode in (True, False):
        assert [fault.expected for fault in read(root, decode).faults] == [
            "a picture that can be decoded",
            "a recording that can be decoded",
        ]


def test_a_spoken_question_is_no_silence(tmp_path: Path) -> None:
    root = make(tmp_path, [item("x", audios=["audio/mute.wav"]), item("y", "AaC", audios=["audio/mute.wav"])])
    soundfile.write(root / "have_bench" / "audio" / "mute.wav", np.zeros(1600), 16_000)
    (fault,) = read(root).faults
    assert (fault.row, fault.found) == ("line 1", "'audio/mute.wav': silence")
    assert fault.expected == "a recording with the spoken question of an AaI item"
    assert read(root, decode=False).faults == (), "a run reads headers only"


def test_each_file_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make(tmp_path, [*default_items(), *(item(f"more{number}") for number in range(5))])
    seen = []
    look = Media._look
    monkeypatch.setattr(Media, "_look", lambda self, kind, name: seen.append(name) or look(self, kind, name))
    assert not read(root).faults
    assert sorted(seen) == ["audio/one.wav", "audio/two.wav", "images/one.png", "images/two.png"]


def test_a_huge_picture_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make(tmp_path, [item("x")])
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    (fault,) = read(root).faults
    assert "decompression bomb" in fault.found and "\n" not in str(fault)


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    from lmms_audio_tasks import sources
    from lmms_audio_tasks.have_bench.data import load_items

    source = sources.parse(str(make(tmp_path)))
    assert len(load_items(source)) == 7 and load_items(source) is load_items(source)
    write_items(tmp_path, [item("alone")])
    assert [one.id for one in load_items(source)] == ["alone"]
