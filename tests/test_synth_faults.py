"""`synthesize` on what is damaged, in the way, or odd: each has its line, and nothing that was made is lost."""

from __future__ import annotations

import fcntl
import json
import pickle
import select
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synth_data import TONES, lines, prompt, run, tones, write_tasks

from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.synthesize import (
    intelligibility,
    make,
    normalise,
    settings,
    speakability,
    tasks_input,
    voices,
    writer,
)
from lmms_audio_tasks.synthesize.tts import Choice, SpeechError
from lmms_audio_tasks.synthesize.tts.command import Command
from lmms_audio_tasks.synthesize.voices import Voice
from lmms_audio_tasks.synthesize.workfiles import WorkFiles

VOICE = Voice("v", "Ayr", "", "", engine_voice="v")
NOWHERE = Path("nowhere")


# --- programs ---


def test_what_a_program_leaves_running_is_not_waited_for_and_ends(tmp_path: Path) -> None:
    """It holds the program's output open, and a lock for as long as it lives."""
    (tmp_path / "tones.py").write_text(TONES)
    script = tmp_path / "leaves.py"
    script.write_text(
        "import fcntl, os, runpy, subprocess, sys\n"
        f"lock = os.open({str(tmp_path / 'lock')!r}, os.O_CREAT | os.O_RDWR)\n"
        "fcntl.flock(lock, fcntl.LOCK_EX)\n"
        "late = 'import pathlib, sys, time; time.sleep(60); pathlib.Path(sys.argv[1]).touch()'\n"
        f"subprocess.Popen([sys.executable, '-c', late, {str(tmp_path / 'late')!r}], pass_fds=[lock])\n"
        f"runpy.run_path({str(tmp_path / 'tones.py')!r})\n"
    )
    engine = Command(f"{sys.executable} {script} {{text_file}} {{wav}} {{voice}}", "en", 50)
    samples, rate = engine.speak("one two", VOICE, NOWHERE, 0)
    assert len(samples) == round(0.7 * rate)
    with (tmp_path / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    assert not (tmp_path / "late").exists()


def test_of_a_program_that_prints_without_end_the_end_is_told(tmp_path: Path) -> None:
    script = tmp_path / "prints.py"
    script.write_text("import sys; print('x' * 10**6); sys.exit('no such voice')")
    engine = Command(f"{sys.executable} {script} {{text_file}} {{wav}}", "en", 50)
    with pytest.raises(SpeechError, match=r"ended with code 1: .*x no such voice$"):
        engine.speak("one", VOICE, NOWHERE, 0)


def test_a_full_disk_for_temporary_files_stops_the_run(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    """Programs may cut a recording there and say nothing, so none of these is kept."""
    tasks = write_tasks(tmp_path / "t.jsonl", [prompt(1)])
    options = tones(tmp_path)

    def full(path: Path, content: bytes) -> int:
        if path.name != "room":
            return write(path, content)
        raise OSError(28, "No space left on device")

    write = Path.write_bytes
    monkeypatch.setattr(Path, "write_bytes", full)
    assert run(tasks, "-o", tmp_path / "out", *options) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert "expected room for temporary files; found No space left on device" in told
    assert not (tmp_path / "out" / "work" / "clips.jsonl").read_text()


def test_an_empty_reference_is_told(tmp_path: Path) -> None:
    engine = Command(f"{sys.executable} {{text_file}} {{wav}} {{reference}}", "en", 9)
    empty = tmp_path / "r.wav"
    empty.touch()
    voice = Voice("v", "Ayr", "", "", reference="r.wav")
    assert engine.voice_fault(voice, empty) == ("a reference recording", "'r.wav', an empty file")


def test_a_process_that_died_does_not_change_the_seed(tmp_path: Path, monkeypatch: Any) -> None:
    """Else it would depend on chance what a synthesizer that draws makes; one that failed by itself draws anew."""
    seeds: dict[str, list[int]] = {}

    def results(pending: Any, *_: Any) -> Any:
        for job in pending:
            tries = seeds.setdefault(job.key, [])
            tries.append(job.seed)
            told = {1: make._DIED if job.key == "died" else "no"}.get(len(tries))
            yield job, told or (b"x", {"seconds": 1.0})

    monkeypatch.setattr(make, "_results", results)
    choice = Choice("command", "en", 30, command=f"{sys.executable} {{text_file}} {{wav}}")
    jobs = [make.Job(key, "one", 1, VOICE, NOWHERE) for key in ("died", "failed")]
    make.make(jobs, WorkFiles(tmp_path / "work"), choice, choice.load(), settings.load(), 2, lambda count: None)
    assert len(set(seeds["died"])) == 1 and len(set(seeds["failed"])) == 2
    assert len(seeds["died"]) == len(seeds["failed"]) == 2


def test_what_processes_hand_over_is_written_in_one_go(tmp_path: Path, monkeypatch: Any) -> None:
    """A longer message could be cut by a kill, and the run would wait for its rest for ever."""

    class Loud:
        def speak(self, *_: Any) -> tuple[Any, int]:
            return 0.2 * np.sin(np.arange(160_000, dtype=np.float32)), 16000

    folder, speech = tmp_path / ("long " * 40), settings.load().speech
    monkeypatch.setattr(make, "_state", {"engine": Loud(), "speech": speech, "folder": folder})
    handed = make._work(make.Job("a" * 64, "one", 1, VOICE, NOWHERE))
    assert len(pickle.dumps(handed)) < select.PIPE_BUF and len(make._taken(handed)[0]) > select.PIPE_BUF


# --- files ---


def damage(line: str, how: str) -> str:
    made = json.loads(line)
    changed: dict[str, Any] = {
        "key": {**made, "key": ["x"]},
        "no measures": {**made, "measures": {}},
        "none": {**made, "measures": None},
        "measure": {**made, "measures": {**made["measures"], "seconds": "x"}},
        "attempt": {**made, "attempt": "1"},
        "size": {**made, "size": None},
        "more": {**made, "mood": 1},
        "list": [made],
    }
    texts = {"cut": line[:40], "deep": "[" * 100_000, "zeros": "\0" * 80, "number": "9" * 5000}
    return texts.get(how) or json.dumps(changed[how])


DAMAGES = ("key", "no measures", "none", "measure", "attempt", "size", "more", "list", "cut", "deep", "zeros", "number")


def test_a_damaged_journal_costs_its_recordings_alone(tmp_path: Path, capsys: Any) -> None:
    tasks = write_tasks(tmp_path / "t.jsonl", [prompt(number) for number in range(1, 5)])
    out, options = tmp_path / "out", tones(tmp_path)
    assert run(tasks, "-o", out, *options) == 0
    before = {path.name: path.read_bytes() for path in (out / "c3t").rglob("*.parquet")}
    journal = out / "work" / "clips.jsonl"
    there = journal.read_text().splitlines()
    journal.write_text("\n".join([*map(damage, there, DAMAGES), *there[len(DAMAGES) :]]) + "\n")
    capsys.readouterr()
    assert run(tasks, "-o", out, *options) == 0
    assert f"16 wanted, {len(DAMAGES)} made now, {16 - len(DAMAGES)} there already" in capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in (out / "c3t").rglob("*.parquet")} == before


def test_a_folder_in_the_way_is_told(tmp_path: Path, capsys: Any) -> None:
    tasks = write_tasks(tmp_path / "t.jsonl", [prompt(1)])
    (tmp_path / "out" / "intelligibility.jsonl").mkdir(parents=True)
    assert run(tasks, "-o", tmp_path / "out", *tones(tmp_path)) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert "intelligibility.jsonl: expected a file that can be removed; found" in told


def test_a_set_that_cannot_be_finished_leaves_the_disk_and_the_earlier_one(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    tasks = write_tasks(tmp_path / "t.jsonl", [prompt(1)])
    out, options = tmp_path / "out", tones(tmp_path)
    assert run(tasks, "-o", out, *options) == 0

    def full(path: Path, rows: Any) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writer, "_write_shard", full)
    assert run(tasks, "-o", out, *options) == 2
    assert "expected a folder that can be written; found No space left on device" in capsys.readouterr().err
    assert not (out / ".c3t.new").exists() and len(list((out / "c3t").rglob("*.parquet"))) == 2


# --- tables ---


def test_half_a_character_in_a_big_bench_hard_file(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "navigate.json"
    path.write_text(
        '[{"input": "Is it so?", "target": "y\\udc00"}, {"input": "Is it \\ud83d\\ude00?", "target": "No"}]'
    )
    prompts, (fault,) = tasks_input.read([path])
    assert [found.row for found in prompts] == [2]
    assert str(fault) == f"{path}, row 1: expected whole characters; found half a character: '\\udc00'"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"options": {}}, "expected options to be a list of texts; found {}"),
        ({"options": False}, "expected options to be a list of texts; found False"),
        ({"options": ""}, "expected options to be a list of texts; found ''"),
        ({"task_name": "navigate 日本"}, "expected a task_name of letters a to z, or none that names a C3T task"),
    ],
)
def test_rows_at_fault(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    path = write_tasks(tmp_path / "t.jsonl", [{**prompt(1), **changes}, prompt(2, options=None), prompt(3, task="猫")])
    prompts, (fault,) = tasks_input.read([path])
    assert [found.instance_id for found in prompts] == ["2", "3"]
    assert str(fault).startswith(f"{path}, row 1: ") and told in str(fault)


@pytest.mark.parametrize("language", ["", "en_US", "english", "e", "-en", "e\n"])
def test_languages_that_are_none(language: str, tmp_path: Path, capsys: Any) -> None:
    """Taken as they are they would switch off the check of the writing, and words for numbers."""
    with pytest.raises(SystemExit):
        run(tmp_path / "t.jsonl", "--report", f"--language={language}")
    assert f"expected a language such as en or pt-BR, not {language!r}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--model", "x"], "--model goes with --engine clone"),
        (["--asr", "demo", "--device", "quantum"], "--device 'quantum' cannot be used here: Expected one of cpu"),
    ],
)
def test_options_that_cannot_be(words: list[str], told: str, tmp_path: Path, capsys: Any) -> None:
    tasks = write_tasks(tmp_path / "t.jsonl", [prompt(1)])
    assert run(tasks, "-o", tmp_path / "out", *tones(tmp_path), *words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {told}")


def test_commands_are_printed_as_a_shell_takes_them(tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "my out"
    assert run(write_tasks(tmp_path / "t.jsonl", [prompt(1)]), "-o", out, *tones(tmp_path)) == 0
    told = capsys.readouterr().out
    assert f"--data '{out}'" in told and f"--audio_data '{out}' --tasks c3t_custom " in told


@pytest.mark.parametrize("number", ["٥٠", "5²", "-1", "1e1"])
@pytest.mark.parametrize("column", ["pitch", "pace"])
def test_numbers_that_programs_do_not_read(column: str, number: str, tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text(f"voice_id,accent,age,gender,{column}\na,Ayr,,,{number}\n", "utf-8")
    with pytest.raises(DataError, match=f"row 1: expected {column} to be a whole number"):
        voices.read(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("run: {retries: 1}\nrun: {retries: 2}\n", "line 2: expected each key once; found 'run' again"),
        ("run:\n  retries: 1\n  retries: 2\n", "line 3: expected each key once; found 'retries' again"),
        ("run: {timeout_seconds: 1.0e+12}", "run.timeout_seconds: expected a number of at most 1000000; found"),
        ("speech: {margin_seconds: 99}", "speech.margin_seconds: expected a number of at most 10; found 99"),
        ("speech: {peak_dbfs: -101}", "speech.peak_dbfs: expected a number of -100 to 0; found -101"),
        ("speakability: {scripts: {en: [Latin]}}", "scripts.en: expected writings as LATIN or GREEK; found ['Latin']"),
        ("speakability: {scripts: {xx: [5]}}", "scripts.xx: expected writings as LATIN or GREEK; found [5]"),
        ("run: &run {retries: *run}", "run.retries: expected a number"),
        ("[" * 5000, "expected YAML; found"),
    ],
)
def test_settings_at_fault(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        settings.load(path)
    assert str(error.value).startswith(str(path)) and told in str(error.value)


# --- words ---


def test_a_sign_with_a_word_of_its_own_is_no_emoji() -> None:
    known = settings.load()
    mine = normalise.Normaliser("en", {**known.normalise, "symbols": {"en": {"☃": "snowman"}}})
    text = "Is the ☃ in the garden taller than you?"
    said = speakability.examine(text, "en", known.speakability, mine)
    assert said == ("Is the snowman in the garden taller than you?", {})
    plain = normalise.Normaliser("en", known.normalise)
    assert set(speakability.examine(text, "en", known.speakability, plain)[1]) == {"emoji"}


def test_longer_symbols_come_before_those_they_hold() -> None:
    tables = {**settings.load().normalise, "symbols": {"en": {"°": "degrees", "°C": "Celsius"}}}
    assert normalise.Normaliser("en", tables).spoken("5 °C or 5 °") == "five Celsius or five degrees"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Is it, really, Jane's?", ["is", "it", "really", "janes"]),
        ("twenty-one", ["twenty", "one"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("می\u200cخواهم", ["میخواهم"]),
        ("", []),
    ],
)
def test_words_that_are_compared(text: str, words: list[str]) -> None:
    assert intelligibility.plain_words(text) == words


def test_spoken_lines_tell_what_was_said(tmp_path: Path) -> None:
    tasks = write_tasks(tmp_path / "t.jsonl", [prompt(1, "Is $1,250.50 paid by three of us here at the table?")])
    assert run(tasks, "-o", tmp_path / "out", *tones(tmp_path), "--splits", "accent") == 0
    (said,) = lines(tmp_path / "out" / "spoken.jsonl")
    assert said["spoken"].startswith("Is one thousand two hundred and fifty point five zero dollars paid")
