"""`synthesize` as a whole: the set and its files, what fails and what goes on, kill and resume."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest
import soundfile
from synth_data import lines, prompt, run, tones, write_tasks, write_voices

from lmms_audio_tasks import audio
from lmms_audio_tasks.cli import main
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.synthesize import make, numbers, pipeline, settings
from lmms_audio_tasks.synthesize.tts import Choice
from lmms_audio_tasks.synthesize.voices import Voice
from lmms_audio_tasks.synthesize.workfiles import WorkFiles

TESTS = Path(__file__).parent
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return write_tasks(
        tmp_path / "tasks.jsonl", [prompt(1), prompt(2, options=[]), prompt(1, "Back at the start?", "navigate")]
    )


def rows(output: Path, task: str, split: str) -> list[dict[str, Any]]:
    from pyarrow import parquet

    (path,) = (output / "c3t" / task).glob(f"{split}-*.parquet")
    return parquet.read_table(path).to_pylist()


def digests(output: Path) -> dict[str, str]:
    """SHA-256 of every file of the set."""
    files = sorted(path for path in (output / "c3t").rglob("*") if path.is_file())
    return {str(path.relative_to(output)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def check(output: Path, capsys: Capture) -> dict[str, Any]:
    assert main(["check", "c3t", "--data", str(output), "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


# --- the set ---


def test_a_set_that_c3t_reads(tasks: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out"
    assert run(tasks, "-o", out, *tones(tmp_path)) == 0
    told = capsys.readouterr().out
    assert "recordings: 12 wanted, 12 made now, 0 there already; 12 in the set" in told
    assert f"lmms_eval --audio_data {out} --tasks c3t_navigate_*,c3t_custom --model" in told
    first, second, *_ = rows(out, "my_task", "accent")
    recording = first.pop("audio")
    assert first == {
        "task_name": "my_task",
        "task_id": 0,
        "instance_id": "1",
        "sample_id": "my_task/1/accent/Ayr",
        "answers": ["yes"],
        "options": ["yes", "no"],
        "text_prompt": "Is this question number 1?",
        "audio_prompt": "v1 (v1)",
        "accent": "Ayr",
        "age": None,
        "gender": None,
    }
    assert second["accent"] == "Bath" and recording["path"] == "my_task_1_accent_ayr.flac"
    # Five words of 0.35 s, and a margin of 0.1 s at either end.
    assert audio.verify(recording).duration == pytest.approx(1.95, abs=0.03)
    spoken = lines(out / "spoken.jsonl")
    assert spoken[0] == {"task_name": "my_task", "instance_id": "1", "spoken": "Is this question number one?"}
    found = check(out, capsys)
    assert found["prompts"] == 3 and found["absent"] == [] and found["faults"] == []
    assert {(s["task"], s["split"], s["rows"]) for s in found["splits"]} == {
        (task, split, count) for task, count in (("navigate", 2), ("custom", 4)) for split in ("accent", "age_gender")
    }


def test_datasets_opens_it(tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    out = tmp_path / "out"
    assert run(tasks, "-o", out, *tones(tmp_path)) == 0
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    folder, cache = str(out / "c3t"), str(tmp_path / "cache")
    one = datasets.load_dataset(folder, "my-task", split="age_gender", cache_dir=cache)
    assert [row["gender"] for row in one.select_columns(["gender"])] == ["female", "male"] * 2
    assert isinstance(one.features["audio"], datasets.Audio)
    assert len(datasets.load_dataset(folder, split="accent", cache_dir=cache)) == 6


def test_the_same_seed_and_engine_give_the_same_bytes(tasks: Path, tmp_path: Path) -> None:
    """Whatever the number of processes, the name of the folder, and the order in which the tasks come."""
    options = tones(tmp_path)
    assert run(tasks, "-o", tmp_path / "one", *options) == 0
    turned = write_tasks(tmp_path / "turned.jsonl", reversed(lines(tasks)))
    assert run(turned, "-o", tmp_path / "two", *options, "--processes", 2) == 0
    assert digests(tmp_path / "one") == digests(tmp_path / "two") and len(digests(tmp_path / "one")) == 6


def test_the_card_and_the_manifest(tasks: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = tones(tmp_path)
    write_voices(tmp_path / "voices.csv", licence="CC0 | mine")
    assert run(tasks, "-o", out, *options, "--seed", 5, "--limit", 1) == 0
    manifest = json.loads((out / "c3t" / "synthesized.json").read_text("utf-8"))
    assert manifest["tasks"] == ["my_task", "navigate"] and manifest["seed"] == 5
    assert manifest["prompts"] == {"read": 3, "kept": 2, "dropped": 0} and manifest["recordings_absent"] == 0
    files = {name: digest for name, digest in digests(out).items() if name.endswith("parquet")}
    assert {f"c3t/{name}": digest for name, digest in manifest["files"].items()} == files
    card = (out / "c3t" / "README.md").read_text("utf-8")
    assert "| my_task | my-task | accent | 1 | 2 |" in card and "| v1 | Ayr |  |  | v1 | 2 | CC0 \\| mine |" in card
    assert all(digest in card for digest in files.values()) and manifest["settings_sha256"] in card


def test_large_sets_come_in_several_files(tasks: Path, tmp_path: Path, capsys: Capture) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("run: {shard_megabytes: 0.03}\n")
    assert run(tasks, "-o", tmp_path / "out", *tones(tmp_path), "--settings", mine) == 0
    names = sorted(path.name for path in (tmp_path / "out" / "c3t" / "my_task").iterdir())
    assert len(names) > 2 and names[0].startswith("accent-00000-of-0000")
    capsys.readouterr()
    assert {s["rows"] for s in check(tmp_path / "out", capsys)["splits"]} == {2, 4}


def test_one_split_alone(tasks: Path, tmp_path: Path, capsys: Capture) -> None:
    assert run(tasks, "-o", tmp_path / "out", *tones(tmp_path), "--splits", "accent") == 0
    evaluated = "--tasks c3t_navigate_accent,c3t_navigate_text,c3t_custom_accent,c3t_custom_text --model"
    assert evaluated in capsys.readouterr().out
    assert check(tmp_path / "out", capsys)["faults"] == []
    assert not list((tmp_path / "out").rglob("age_gender*"))
    assert len(rows(tmp_path / "out", "my_task", "accent")) == 4


def test_prompts_of_the_same_words_share_their_recordings(tmp_path: Path, capsys: Capture) -> None:
    tasks = write_tasks(tmp_path / "t.jsonl", [prompt(1, "Is this 3?"), prompt(2, "Is this three?")])
    assert run(tasks, "-o", tmp_path / "out", *tones(tmp_path)) == 0
    assert "8 wanted, 4 made now, 0 there already; 8 in the set" in capsys.readouterr().out
    one, two = ([row["audio"]["bytes"] for row in rows(tmp_path / "out", "my_task", "accent")][n::2] for n in (0, 1))
    assert len({*one, *two}) == 2 and check(tmp_path / "out", capsys)["prompts"] == 2


# --- what goes wrong ---


def problems(output: Path) -> list[tuple[str, str, str, str]]:
    return [(p["kind"], p["task"], p["instance_id"], p["voice"]) for p in lines(output / "problems.jsonl")]


def test_what_fails_leaves_the_others_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    tasks = write_tasks(tmp_path / "t.jsonl", [prompt(1), prompt(2, "Is this awkward?")])
    out, options = tmp_path / "out", tones(tmp_path)
    monkeypatch.setenv("TONES_FAIL", "awkward")
    assert run(tasks, "-o", out, *options) == 1
    told = capsys.readouterr().out
    assert "8 wanted, 4 made now, 0 there already, 4 failed; 4 in the set" in told
    assert "failed: my_task 2 accent v1: python" in told and "ended with code 1: cannot say awkward" in told
    assert problems(out) == [("failed", "my_task", "2", voice) for voice in ("v1", "v2", "v3", "v4")]
    assert check(out, capsys)["prompts"] == 1
    monkeypatch.setenv("TONES_FAIL", "")
    assert run(tasks, "-o", out, *options) == 0
    assert "8 wanted, 4 made now, 4 there already; 8 in the set" in capsys.readouterr().out
    assert problems(out) == [] and check(out, capsys)["prompts"] == 2


@pytest.mark.parametrize("processes", [1, 2])
def test_a_failure_that_passes_is_made_up_for_in_the_same_run(
    processes: int, tasks: Path, tmp_path: Path, capsys: Capture
) -> None:
    script = tmp_path / "flaky.py"
    # Fails for each recording at the first call.
    script.write_text(
        "import pathlib, subprocess, sys\n"
        "text, wav, voice = sys.argv[1:4]\n"
        "import hashlib\n"
        "name = hashlib.sha256((open(text).read() + voice).encode()).hexdigest()\n"
        f"mark = pathlib.Path({str(tmp_path)!r}) / name\n"
        "if not mark.exists():\n    mark.touch()\n    sys.exit('not now')\n"
        f"sys.exit(subprocess.call([sys.executable, {str(tmp_path / 'tones.py')!r}, *sys.argv[1:]]))\n"
    )
    options = tones(tmp_path)
    options[3] = options[3].replace("tones.py", "flaky.py")
    assert run(tasks, "-o", tmp_path / "out", *options, "--processes", processes) == 0
    assert "12 made now" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("empty", "wrote an empty file"),
        ("corrupt", "wrote audio that cannot be used"),
        ("silent", "the recording is silent"),
        ("clipped", "of samples clipped, more than 0.10%"),
        ("fast", "words are missing"),
    ],
)
def test_nothing_good_comes(how: str, told: str, tasks: Path, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("TONES_HOW", how)
    out = tmp_path / "out"
    assert run(tasks, "-o", out, *tones(tmp_path)) == 2
    err = capsys.readouterr().err.splitlines()[-1]
    assert err.startswith("error: no recording could be made: ") and told in err and "problems.jsonl has all)" in err
    assert len(lines(out / "problems.jsonl")) == 12 and told in lines(out / "problems.jsonl")[0]["told"]
    assert not (out / "c3t").exists()


def test_voices_that_cannot_be_used_are_left_out(tasks: Path, tmp_path: Path, capsys: Capture) -> None:
    options = tones(tmp_path)
    path = tmp_path / "voices.csv"
    path.write_text(path.read_text().replace("v2,Bath,,,accent,v2", "v2,Bath,,,accent,"))
    assert run(tasks, "-o", tmp_path / "out", *options) == 1
    told = capsys.readouterr().out
    assert "3 in voices that cannot be used; 9 in the set" in told
    assert f"{path}, row 2: expected a value for {{voice}} of the command; found none; 3 " in told
    assert [row["accent"] for row in rows(tmp_path / "out", "my_task", "accent")] == ["Ayr", "Ayr"]


def test_a_reference_that_is_not_there_costs_its_voice_alone(tasks: Path, tmp_path: Path, capsys: Capture) -> None:
    """Also where the synthesizer does not ask for it: what the set says of its voices would not be true."""
    write_voices(tmp_path / "voices.csv", reference="nowhere.wav")
    path = tmp_path / "voices.csv"
    path.write_text(path.read_text().replace("nowhere.wav", "", 1))
    assert run(tasks, "-o", tmp_path / "out", *tones(tmp_path)) == 1
    told = capsys.readouterr().out
    assert "9 in voices that cannot be used; 3 in the set" in told
    assert f"{path}, row 2: expected a reference recording; found 'nowhere.wav'" in told


@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")
def test_odd_prompts_and_a_voice_that_does_not_exist(tmp_path: Path, capsys: Capture) -> None:
    """Each has its line, and what is good is made."""
    tasks = [
        prompt(1, "Is this fine?"),
        prompt(2, text_prompt=""),
        prompt(3, "word " * 2000),
        prompt(4, "Fine \U0001f600?"),
        prompt(5, "كم عدد الكتب؟"),
        prompt(6, "<speak>Fine?</speak>"),
        prompt(1, "Is this fine again?"),
    ]
    voices = tmp_path / "v.csv"
    voices.write_text("voice_id,accent,age,gender,engine_voice\na,Ayr,,,en\nb,Bath,,,klingonese\n")
    out = tmp_path / "out"
    path = write_tasks(tmp_path / "t.jsonl", tasks)
    assert run(path, "-o", out, "--voices", voices, "--splits", "accent") == 1
    told = capsys.readouterr().out
    for line in (
        "my_task: 1 kept; dropped: 1 too many words, 1 markup, 1 emoji, 1 another writing than the language's",
        "row 2: expected a text_prompt that is not empty; found ''",
        "row 7: expected each instance_id of a task once; found '1' of my_task again",
        f"{voices}, row 2: expected a voice of espeak-ng (espeak-ng --voices lists them); found 'klingonese'",
        "2 wanted, 1 made now, 0 there already, 1 in voices that cannot be used; 1 in the set",
    ):
        assert line in told, told
    assert [row["accent"] for row in rows(out, "my_task", "accent")] == ["Ayr"]
    assert {line["instance_id"]: next(iter(line["reasons"])) for line in lines(out / "dropped.jsonl")} == {
        "3": "words",
        "4": "emoji",
        "5": "script",
        "6": "markup",
    }


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "say where the set goes: -o DIR"),
        (["-o", "OUT", "--splits", "mood"], "--splits takes accent, age_gender, not 'mood'"),
        (["-o", "OUT", "--command", "x"], "--command goes with --engine command"),
        (["-o", "OUT", "--engine", "clone"], "--engine clone needs a table of voices: --voices FILE"),
        (["-o", "OUT", "--language", "de"], "the shipped voices speak English, not 'de': --voices FILE"),
        (["-o", "OUT", "--voices", "nowhere.csv"], "nowhere.csv: expected a table of voices (CSV); found no such file"),
        (["-o", "OUT", "--settings", "nowhere.yaml"], "nowhere.yaml: expected a settings file; found no such file"),
        (["-o", "TASKS"], "expected a folder that can be written; found File exists"),
        (["-o", "TASKS/below"], "expected a folder that can be written; found Not a directory"),
    ],
)
def test_commands_that_cannot_work(words: list[str], told: str, tasks: Path, tmp_path: Path, capsys: Any) -> None:
    words = [word.replace("OUT", str(tmp_path / "out")).replace("TASKS", str(tasks)) for word in words]
    assert run(tasks, *words) == 2
    err = capsys.readouterr().err
    assert told in err and err.startswith("error: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("package", "told"),
    [
        ("num2words", "num2words is not installed, which spells numbers out: pip install"),
        ("pyloudnorm", "pyloudnorm is not installed, which measures loudness: pip install"),
        ("jiwer", "jiwer is not installed, which counts word errors: pip install"),
    ],
)
def test_packages_that_are_missing_are_told_before_anything_is_said(
    package: str, told: str, tasks: Path, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == package else found(name, *a))
    numbers.in_words.cache_clear()
    assert run(tasks, "-o", tmp_path / "out", *tones(tmp_path), *(["--asr", "x"] if package == "jiwer" else [])) == 2
    assert told in capsys.readouterr().err and not (tmp_path / "out" / "work" / "clips").exists()


def test_nothing_can_be_spoken(tmp_path: Path, capsys: Capture) -> None:
    tasks = write_tasks(tmp_path / "t.jsonl", [prompt(1, "word " * 2000)])
    assert run(tasks, "-o", tmp_path / "out", *tones(tmp_path)) == 2
    assert f"no prompt is left to say: {tmp_path / 'out' / 'dropped.jsonl'} says why" in capsys.readouterr().err
    assert run(tmp_path / "nowhere.jsonl", "-o", tmp_path / "out", *tones(tmp_path)) == 2
    assert "no prompt is left to say: " in (err := capsys.readouterr().err) and "found no such file" in err


def test_data_of_others_are_not_touched(tasks: Path, tmp_path: Path, capsys: Capture) -> None:
    theirs = tmp_path / "out" / "c3t" / "navigate" / "accent.jsonl"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("{}")
    assert run(tasks, "-o", tmp_path / "out", *tones(tmp_path)) == 2
    assert "holds data that `synthesize` did not write; choose another -o" in capsys.readouterr().err
    assert theirs.read_text() == "{}"


def test_a_later_set_takes_the_place_of_the_earlier(tasks: Path, tmp_path: Path) -> None:
    out, options = tmp_path / "out", tones(tmp_path)
    assert run(tasks, "-o", out, *options) == 0
    other = write_tasks(tmp_path / "other.jsonl", [prompt(1, task="other")])
    assert run(other, "-o", out, *options) == 0
    assert sorted(path.name for path in (out / "c3t").iterdir()) == ["README.md", "other", "synthesized.json"]


def test_a_disk_that_is_full_stops_with_a_line(tasks: Path, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    out, options = tmp_path / "out", tones(tmp_path)
    whole = Path.write_bytes
    left = [5]

    def full(self: Path, data: bytes) -> int:
        if self.suffix == ".part":
            left[0] -= 1
            if left[0] < 0:
                raise OSError(28, "No space left on device")
        return whole(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    assert run(tasks, "-o", out, *options) == 2
    assert "expected a file that can be written; found No space left on device" in capsys.readouterr().err
    monkeypatch.undo()
    assert run(tasks, "-o", out, *options) == 0
    assert "7 made now, 5 there already; 12 in the set" in capsys.readouterr().out


def test_a_place_for_work_that_is_a_file(tasks: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "work").touch()
    assert run(tasks, "-o", tmp_path / "out", *tones(tmp_path)) == 2
    assert "work: expected a folder that can be written; found File exists" in capsys.readouterr().err


def test_two_runs_do_not_write_into_one_another(tasks: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "out" / "work").mkdir(parents=True)
    # In a process of its own: within one, the host makes all file locks reentrant once it has evaluated anything.
    holder = (
        "import sys; from pathlib import Path; from lmms_audio_tasks.synthesize import pipeline\n"
        "with pipeline._alone(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", holder, str(tmp_path / "out")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        assert run(tasks, "-o", tmp_path / "out", *tones(tmp_path)) == 2
        other.communicate("")
    assert "another run is writing into" in capsys.readouterr().err


# --- what is heard ---


class Deaf:
    """Hears the words of accent Ayr as they are said, and half of those of others; no recording of the first prompt."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def transcribe(self, recordings: Mapping[str, Any], progress: Any) -> dict[str, Any]:
        said = {line["instance_id"]: line["spoken"] for line in lines(self.folder / "spoken.jsonl")}
        heard: dict[str, Any] = {}
        for number, key in enumerate(recordings):
            assert hashlib.sha256(Path(recordings[key]()).read_bytes()).hexdigest() == key
            words = said[str(1 + number // 4)].split()
            heard[key] = " ".join(words if number % 4 != 1 else words[: len(words) // 2])
        heard[next(iter(recordings))] = Failure("too loud")
        progress(len(recordings))
        return heard


@pytest.mark.parametrize("drop", [False, True])
def test_voices_that_are_not_understood(drop: bool, tmp_path: Path, monkeypatch: Any, capsys: Capture) -> None:
    """Bath is understood by 3 of 6 words. Its recordings are left out where that is wished."""
    rows_ = [prompt(number, f"Is this the question {word}?") for number, word in ((1, "here"), (2, "there"))]
    tasks = write_tasks(tmp_path / "t.jsonl", [{**row, "task_name": "t"} for row in rows_])
    mine = tmp_path / "mine.yaml"
    mine.write_text(f"intelligibility: {{max_clip_wer: 0.45, drop: {str(drop).lower()}}}\n")
    out = tmp_path / "out"
    monkeypatch.setattr(pipeline, "_recogniser", lambda options: Deaf(out))
    assert run(tasks, "-o", out, *tones(tmp_path), "--settings", mine, "--asr", "deaf") == 1
    told = capsys.readouterr().out
    assert "not transcribed: t 1 accent v1: too loud" in told
    assert "accent Bath                      0.6000  0.6000  (2 recordings)  flagged" in told
    assert "accent Ayr                       0.0000  0.0000  (1 recordings)\n" in told
    assert len(rows(out, "t", "accent")) == (2 if drop else 4) and len(rows(out, "t", "age_gender")) == 4
    assert len(lines(out / "intelligibility.jsonl")) == 7
    card = (out / "c3t" / "README.md").read_text("utf-8")
    assert "| accent | Bath | 2 | 0.6000 | 0.6000 | flagged |" in card
    rejected = [line["told"] for line in lines(out / "problems.jsonl") if line["kind"] == "rejected"]
    assert rejected == (["word error rate 0.60, more than 0.45"] * 2 if drop else [])


# --- processes ---


def test_a_process_that_dies_loses_no_other_recording(tmp_path: Path) -> None:
    """The recording that kills its process is reported; those beside it are made in the end."""
    folder = tmp_path / "pocket_tts"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "import os, torch\n"
        "class TTSModel:\n"
        "    sample_rate = 24000\n"
        "    @classmethod\n"
        "    def load_model(cls, **how): return cls()\n"
        "    def to(self, device): return self\n"
        "    def get_state_for_audio_prompt(self, samples): return None\n"
        "    def generate_audio(self, state, text):\n"
        "        if 'deadly' in text: os._exit(9)\n"
        "        return 0.1 * torch.sin(torch.arange(24000) / 9)\n"
    )
    soundfile.write(tmp_path / "r.wav", [0.1, -0.1] * 800, 16000)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_synth_pipeline import die\n"
        "if __name__ == '__main__': die(sys.argv[1])\n"
    )
    script = tmp_path / "main.py"
    script.write_text(code)
    paths = os.pathsep.join([str(tmp_path), str(TESTS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, script, tmp_path],
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert {key: bool(failure) for key, failure in told.items()} == {f"{n:02}": n == 3 for n in range(8)}
    assert "died" in told["03"]


class Breaking:
    """A pool in which a process has died once so many jobs have been handed to it."""

    def __init__(self, left: int) -> None:
        self.left = left

    def submit(self, _work: Any, job: make.Job) -> Future[Any]:
        if not self.left:
            raise BrokenProcessPool
        self.left -= 1
        done: Future[Any] = Future()
        path = job.reference / f"{job.key}.part"
        path.write_text(job.text)
        done.set_result((path, {}))
        return done

    def shutdown(self, **_: Any) -> None:
        pass


def test_a_process_that_dies_while_jobs_are_handed_out_loses_none(tmp_path: Path, monkeypatch: Any) -> None:
    pools = map(Breaking, itertools.chain([2], itertools.repeat(99)))
    monkeypatch.setattr(make, "_pool", lambda *_: next(pools))
    voice = Voice("v", "Ayr", "", "")
    choice = Choice("command", "en", 30, command=f"{sys.executable} {{text_file}} {{wav}}")
    jobs = [make.Job(f"{number:02}", f"number {number}", 2, voice, tmp_path) for number in range(5)]
    files, told = WorkFiles(tmp_path / "work"), settings.load()
    found = make.make(jobs, files, choice, choice.load(), told, 2, lambda count: None)
    assert {key: files.path(key).read_text() for key in found} == {job.key: job.text for job in jobs}


def die(folder: str) -> None:
    """Eight recordings of which the fourth kills the process that makes it; prints each one's failure."""
    reference = Path(folder) / "r.wav"
    voice = Voice("v", "Ayr", "", "", reference="r.wav")
    texts = ["deadly" if number == 3 else f"number {number}" for number in range(8)]
    jobs = [make.Job(f"{number:02}", text, 2, voice, reference) for number, text in enumerate(texts)]
    choice = Choice("clone", "en", 30)
    found = make.make(
        jobs, WorkFiles(Path(folder) / "work"), choice, choice.load(), settings.load(), 2, lambda count: None
    )
    print(json.dumps({key: outcome.failure for key, outcome in found.items()}))


# --- kill and resume ---


def start(tasks: Path, out: Path, options: list[str], processes: int, told: int = subprocess.DEVNULL) -> Any:
    """The command in a process of its own; it does not get past the prompt with a `five` while `hold` is there."""
    script = out.parent / "main.py"
    script.write_text(
        "import signal, sys; from synth_data import run\n"
        "if __name__ == '__main__':\n"
        # As in a terminal; what a shell runs in the background ignores Ctrl-C.
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "    sys.exit(run(*sys.argv[1:]))\n"
    )
    hold = out.parent / "hold"
    hold.touch()
    words = [sys.executable, str(script), str(tasks), "-o", str(out), *options, "--processes", str(processes)]
    paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    tones_ = {"TONES_SLEEP": "0.05", "TONES_HOLD": str(hold)}
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", **tones_}
    return subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=told, start_new_session=True)


def wait_for(journal: Path, lines: int) -> None:
    """Until so many recordings are finished."""
    deadline = time.monotonic() + 300
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= lines):
        assert time.monotonic() < deadline, "the command makes no recordings"
        time.sleep(0.05)


@pytest.mark.parametrize("processes", [1, 2])
def test_stopped_by_hand_it_says_so_in_a_line(processes: int, tmp_path: Path) -> None:
    """Ctrl-C, which a terminal sends to every process of the command."""
    tasks = write_tasks(tmp_path / "tasks.jsonl", [prompt(number) for number in range(6)])
    process = start(tasks, tmp_path / "out", tones(tmp_path), processes, subprocess.PIPE)
    wait_for(tmp_path / "out" / "work" / "clips.jsonl", 3)
    os.killpg(process.pid, signal.SIGINT)
    (tmp_path / "hold").unlink()
    _, told = process.communicate(timeout=300)
    assert process.returncode == 2 and not (tmp_path / "out" / "c3t").exists()
    assert b"\nerror: stopped; the same command goes on from there\n" in told
    # A second process that is still being started says so in its own way.
    assert processes == 2 or b"Traceback" not in told
    assert_gone(process.pid)


@pytest.mark.parametrize("processes", [1, 2])
def test_killed_at_any_moment_it_goes_on(processes: int, tmp_path: Path, capsys: Capture) -> None:
    """kill -9 in the middle, a file damaged and one lost after that: the set is that of a run that was let be."""
    tasks = write_tasks(tmp_path / "tasks.jsonl", [prompt(number) for number in range(6)])
    out, options = tmp_path / "killed", tones(tmp_path)
    process = start(tasks, out, options, processes)
    journal = out / "work" / "clips.jsonl"
    wait_for(journal, 6)
    process.kill()
    process.wait()
    (tmp_path / "hold").unlink()
    assert_gone(process.pid)
    done = lines_that_are_whole(journal)
    assert 6 <= len(done) < 24 and not (out / "c3t").exists()
    damaged, lost, *_ = [out / "work" / "clips" / key[:2] / f"{key}.flac" for key in done]
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    lost.unlink()
    assert run(tasks, "-o", out, *options) == 0
    told = capsys.readouterr().out
    kept = len(done) - 2
    assert f"24 wanted, {24 - kept} made now, {kept} there already; 24 in the set" in told
    assert run(tasks, "-o", tmp_path / "let be", *options) == 0
    assert digests(out) == digests(tmp_path / "let be")


def assert_gone(group: int) -> None:
    """The processes that the killed one had started end by themselves."""
    for _ in range(3000):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.killpg(group, signal.SIGKILL)
    pytest.fail("a worker outlived the command")


def lines_that_are_whole(journal: Path) -> list[str]:
    whole = [line for line in journal.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    return [json.loads(line)["key"] for line in whole]
