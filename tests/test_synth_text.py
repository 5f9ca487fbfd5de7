"""`synthesize`, text side: tasks as they come in, which can be spoken, and the words to say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from synth_data import prompt, run, write_tasks

from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.synthesize import settings, speakability, tasks_input
from lmms_audio_tasks.synthesize.normalise import Normaliser, Unspeakable

DATA = Path(__file__).parent / "data"
DEFAULT = settings.load()
ENGLISH = Normaliser("en", DEFAULT.normalise)
EXAMPLE = Path(tasks_input.__file__).parent / "example" / "tasks.jsonl"


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


# --- words to say ---


@pytest.mark.parametrize("case", cases("synth_spoken.jsonl"), ids=lambda case: case["why"])
def test_spoken(case: dict[str, Any]) -> None:
    normaliser = Normaliser(case.get("language", "en"), DEFAULT.normalise)
    if case["spoken"] is None:
        with pytest.raises(Unspeakable):
            normaliser.spoken(case["text"])
    else:
        assert normaliser.spoken(case["text"]) == case["spoken"]


def test_whatever_is_said_is_words_and_pauses() -> None:
    """No markup of any synthesizer is left: letters, blanks and pauses only."""
    text = 'Say <break time="2s"/> & {x} [[a]] \\pause=3 (B) `ls` |'
    tables = {**DEFAULT.normalise, "symbols": {"en": dict.fromkeys("<>&=\\/`|", "sign")}}
    said = Normaliser("en", tables).spoken(text)
    assert not set(said) & set('<>&[]{}\\`|="/') and "\n" not in said


def test_what_is_said_is_said_the_same_again() -> None:
    for _, text in ((p, p.text) for p in tasks_input.read([EXAMPLE])[0]):
        once = ENGLISH.spoken(text)
        assert ENGLISH.spoken(once) == once


# --- which can be spoken ---


@pytest.mark.parametrize("case", cases("synth_speakable.jsonl"), ids=lambda case: case["why"])
def test_speakability(case: dict[str, Any]) -> None:
    text = case["text"] * case.get("times", 1)
    language = case.get("language", "en")
    _, found = speakability.examine(text, language, DEFAULT.speakability, Normaliser(language, DEFAULT.normalise))
    assert (next(iter(found)) if found else "") == case["reason"], found


def test_thresholds_come_from_the_settings(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("speakability: {max_words: 3}\nnormalise: {symbols: {en: {'☃': snowman}, xx: {'%': prossent}}}\n")
    mine = settings.load(path)
    assert set(speakability.examine("one two three four", "en", mine.speakability, ENGLISH)[1]) == {"words"}
    assert Normaliser("en", mine.normalise).spoken("a ☃ & b") == "a snowman and b"
    assert Normaliser("xx", mine.normalise).spoken("a%") == "a prossent"
    assert mine.digest != DEFAULT.digest and DEFAULT.speakability["max_words"] == 200


def test_texts_beyond_all_measure_are_not_looked_into(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("speakability: {max_words: 100000, max_seconds: 100000}\n")
    _, found = speakability.examine("<b>" * 5000, "en", settings.load(path).speakability, ENGLISH)
    assert found == {"words": "15000 characters, more than 10000"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("speakability: {max_word: 3}", "found speakability.max_word; did you mean max_words?"),
        ("speakability: {max_words: -3}", "speakability.max_words: expected a number above 0; found -3"),
        ("speakability: {max_words: many}", "expected a number; found 'many'"),
        ("speakability: {max_words: true}", "expected a number; found True"),
        ("speech: {loudness_lufs: 5}", "expected a number of -100 to 0; found 5"),
        ("intelligibility: {drop: 1}", "expected true or false; found 1"),
        ("quality: 3", "expected a table of settings; found int"),
        ("speakability: {max_words: .nan}", "expected a number; found nan"),
        ("", "expected sections of settings, such as speakability:; found an empty file"),
        ("speakability:", "speakability: expected a table of settings; found nothing"),
        ("speech: {rate: 1000}", "speech.rate: expected a whole number of 8000 to 192000; found 1000"),
        ("speech: {rate: 16000.5}", "speech.rate: expected a whole number of 8000 to 192000; found 16000.5"),
        ("normalise: {option: {en: 'Option {number}: {text}'}}", "option.en: expected a text with {letter} and {text}"),
        ("normalise: {option: {sv: 'Val {letter}'}}", "option.sv: expected a text with {letter} and {text}"),
        ("normalise: {option: {en: '{letter: {text}'}}", "option.en: expected a text with {letter} and {text}"),
        ("normalise: {symbols: {xx: {5: fem}}}", "normalise.symbols.xx: expected symbol: word; found 5: 'fem'"),
        ("normalise: {symbols: {en: {'': a}}}", "normalise.symbols.en: expected symbol: word; found '': 'a'"),
        ("a: [", "expected YAML"),
        ("normalise: {symbols: {en: {'%': 5}}}", "expected a text; found 5"),
        ("normalise: {symbols: {xx: percent}}", "normalise.symbols.xx: expected a table; found 'percent'"),
        ("normalise: {option: {xx: [a]}}", "expected a text; found ['a']"),
        ("speakability: {scripts: {xx: LATIN}}", "expected a list; found 'LATIN'"),
    ],
)
def test_settings_at_fault(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        settings.load(path)
    assert told in str(error.value) and str(path) in str(error.value)


# --- tasks as they come in ---


def test_rows_of_our_own(tmp_path: Path) -> None:
    rows = [prompt(1, task="BBH navigate"), prompt(2, instance_id=7, options=[]), prompt(3)]
    del rows[2]["options"]
    prompts, faults = tasks_input.read([write_tasks(tmp_path / "t.jsonl", rows)])
    assert not faults
    assert [p.key for p in prompts] == [("navigate", "1"), ("my_task", "7"), ("my_task", "3")]
    assert (prompts[0].options, prompts[1].options, prompts[2].options) == (("yes", "no"), (), ())
    assert (prompts[1].row, prompts[1].answers) == (2, ("yes",))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"text_prompt": " "}, "expected a text_prompt that is not empty; found ' '"),
        ({"text_prompt": 5}, "expected a text_prompt that is not empty; found 5"),
        ({"answers": []}, "expected answers to be a list of at least one text; found []"),
        ({"answers": "yes"}, "expected answers to be a list of at least one text; found 'yes'"),
        ({"answers": ["maybe"]}, "expected an answer that is one of the options; found ['maybe'] among ['yes', 'no']"),
        ({"options": ["yes", 1]}, "expected options to be a list of texts"),
        ({"instance_id": ""}, "expected instance_id to be a text on one line or a whole number; found ''"),
        ({"instance_id": "a\nb"}, "expected instance_id to be a text on one line or a whole number; found 'a\\nb'"),
        ({"task_name": "?!"}, "expected task_name to be a text on one line with a letter or digit; found '?!'"),
        ({"task_name": "a\nb"}, "expected task_name to be a text on one line with a letter or digit; found 'a\\nb'"),
        ({"task_name": "\u732b" * 34}, "expected a task_name of at most 100 bytes, as a folder is called so"),
        ({"task_name": "snarks two"}, "expected a task_name that does not go on after 'snarks'"),
        ({"task_name": "custom"}, "expected a task_name other than custom and default"),
        ({"mood": "calm"}, "expected only the keys task_name, instance_id, text_prompt, answers, options; found also"),
    ],
)
def test_rows_at_fault_leave_the_others(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    path = write_tasks(tmp_path / "t.jsonl", [prompt(1), {**prompt(2), **changes}, prompt(3)])
    prompts, faults = tasks_input.read([path])
    assert [p.instance_id for p in prompts] == ["1", "3"]
    (fault,) = faults
    assert str(fault).startswith(f"{path}, row 2: ") and told in str(fault)


def test_an_id_twice_and_names_that_fall_together(tmp_path: Path) -> None:
    rows = [prompt(1, "First?"), prompt(1, "Second?"), prompt(2, task="My Task"), prompt(1, task="other")]
    path = write_tasks(tmp_path / "t.jsonl", rows)
    prompts, faults = tasks_input.read([path])
    assert [p.text for p in prompts if p.task == "my_task"] == ["First?"] and prompts[-1].task == "other"
    assert "row 2: expected each instance_id of a task once; found '1' of my_task again, first in" in str(faults[0])
    assert "row 3: expected task names that differ in letters or digits" in str(faults[1])
    assert "found 'My Task' and 'my_task'" in str(faults[1])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "expected a JSONL file; found no such file"),
        (b"", "expected at least one task; found an empty file"),
        (b"nonsense\n", "expected a JSON object in UTF-8; found"),
        (b"\xff\xfe{}\n", "found byte 0xff"),
        (b"[1]\n", "expected a JSON object in UTF-8; found [1]"),
        (b'\xef\xbb\xbf{"a": 1}\n', "expected a JSON object in UTF-8; found a byte order mark"),
        (b'{"a": 1, "a": 2}\n', "expected a JSON object in UTF-8; found the key 'a' twice or more"),
        (b'{"a": NaN}\n', "expected a JSON object in UTF-8; found NaN, which is no JSON"),
        (b'{"a": %s}\n' % (b"9" * 5000), "found a number of more digits than Python converts"),
        (b'{"a": "\\ud83d"}\n', "found half a character: '\\ud83d'"),
        (b"{}\n", "found no task_name, instance_id, text_prompt, answers"),
    ],
)
def test_files_at_fault(content: bytes | None, told: str, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    if content is not None:
        path.write_bytes(content)
    prompts, faults = tasks_input.read([path])
    assert prompts == [] and told in str(faults[0]) and str(path) in str(faults[0])


def test_big_bench_hard_files(tmp_path: Path) -> None:
    """Options from the list in the prompt, letters or words; from a closed set of answers; or none."""
    listed = "Which is red?\nOptions:\n(A) a rose\n(B) the sky"
    dashes = "Walk on. Are you back?\nOptions:\n- Yes\n- No"
    files = {
        "hyperbaton.json": {"canary": "x", "examples": [{"input": listed, "target": "(A)"}]},
        "navigate.json": [{"input": dashes, "target": "No"}],
        "web_of_lies.json": [{"input": "Kim lies. Is it so?", "target": "Yes"}, {"input": "And now?", "target": "No"}],
        "sports_understanding.json": [{"input": "Is it plausible?", "target": "no"}],
        "object_counting.json": [{"input": "How many?", "target": "3"}],
    }
    for name, value in files.items():
        (tmp_path / name).write_text(json.dumps(value))
    prompts, faults = tasks_input.read([tmp_path / name for name in files])
    assert not faults
    options = {p.task: p.options for p in prompts}
    assert options == {
        "hyperbaton": ("(A)", "(B)"),
        "navigate": ("Yes", "No"),
        "web_of_lies": ("Yes", "No"),
        "sports_understanding": ("yes", "no"),
        "object_counting": (),
    }
    assert [(p.instance_id, p.answers) for p in prompts if p.task == "web_of_lies"] == [("1", ("Yes",)), ("2", ("No",))]


def test_logged_samples_of_the_harness(tmp_path: Path) -> None:
    path = tmp_path / "samples_leaderboard_bbh_snarks_2025-01-02T03-04-05.678.jsonl"
    text = "Which is meant?\nOptions:\n(A) one\n(B) two"
    write_tasks(path, [{"doc_id": 0, "doc": {"input": text, "target": "(B)"}, "target": "(B)", "resps": [["x"]]}])
    (found,), faults = tasks_input.read([path])
    assert not faults and found.key == ("snarks", "1") and found.options == ("(A)", "(B)") and found.text == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"examples": []}', "expected a list of examples with input and target"),
        ('[{"input": "x"}]', "row 1: expected an example with input and target; found {'target': None}"),
        ("[3]", "row 1: expected an example with input and target; found 3"),
        ("{", "expected JSON"),
    ],
)
def test_big_bench_hard_at_fault(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "navigate.json"
    path.write_text(text)
    prompts, faults = tasks_input.read([path])
    assert prompts == [] and told in str(faults[0])


# --- the report ---


def test_report_counts_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [prompt(1), prompt(2, "Fine?"), prompt(3, "word " * 2000), prompt(4, "Nice 😀?"), prompt(5, text_prompt="")]
    path = write_tasks(tmp_path / "t.jsonl", rows)
    assert run(path, "--report", "--limit", 1) == 1  # one row is no prompt
    out = capsys.readouterr().out
    assert "my_task: 1 kept; dropped: 1 too many words, 1 emoji\n" in out and "1 more are beyond --limit" in out
    assert "dropped: my_task 3: too many words (2000 words, more than 200)" in out
    assert f"fault: {path}, row 5: expected a text_prompt that is not empty; found ''" in out
    assert run(path, "--report", "--format", "json") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["tasks"] == {"my_task": {"kept": 2, "words": 1, "emoji": 1}}
    assert [entry["instance_id"] for entry in told["dropped"]] == ["3", "4"] and len(told["faults"]) == 1


def test_the_example_can_be_spoken(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(EXAMPLE, "--report", "--format", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["dropped"] == [] and sum(counts["kept"] for counts in told["tasks"].values()) == 20
