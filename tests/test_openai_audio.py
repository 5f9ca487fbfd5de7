"""`--model openai_audio` against a server that decodes what it hears."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile as sf
from fake_audio_server import FakeAudio, data_uri, says
from fake_judge_server import Call, Reply
from test_models_base import counting, episodes, requests
from test_models_chance import run_ranks

from lmms_audio_tasks import audio
from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.openai_audio import OpenAIAudio, image_uri
from lmms_audio_tasks.records import is_error

TESTS = Path(__file__).parent


def echo(call: Call) -> Reply:
    return Reply(f"re: {call.prompt}")


def model_at(at: FakeAudio, cache: Path, /, **arguments: Any) -> OpenAIAudio:
    return OpenAIAudio(**{"model": "m", "base_url": at.url, "cache_dir": str(cache), "device": "cpu", **arguments})


def noise(path: Path, seconds: float = 0.5, rate: int = 16_000, channels: int = 1, seed: int = 0) -> Path:
    samples = np.random.default_rng(seed).uniform(-0.5, 0.5, (round(seconds * rate), channels))
    sf.write(path, samples, rate, subtype="PCM_16")
    return path


def heard(path: Path, rate: int) -> np.ndarray:
    """What the server should hear of a file, as int16."""
    samples, _ = audio.load(path, rate)
    return np.clip(np.rint(samples * 32768), -32768, 32767).astype(np.int16)


def question(*parts: Any) -> list[dict[str, Any]]:
    """A turn's content: paths and arrays are recordings."""
    return [
        {"type": "text", "text": part} if isinstance(part, str) else {"type": "audio", "url": _url(part)}
        for part in parts
    ]


def _url(part: Any) -> Any:
    return str(part) if isinstance(part, Path) else part


# ---------------------------------------------------------------------------------------------------- what is sent


@pytest.mark.parametrize("form", ["input_audio", "audio_url"])
def test_the_server_hears_every_sample_in_order(tmp_path: Path, form: str) -> None:
    one, two = noise(tmp_path / "one.wav", seed=1), noise(tmp_path / "two.flac", seconds=0.3, seed=2)
    with FakeAudio(echo) as server:
        model = model_at(server, tmp_path, audio=form)
        assert model.generate_until(requests(model, [question(one, "first", two, "second")])) == ["re: first\nsecond"]
    (call,) = server.calls
    assert [part["type"] for part in call.body["messages"][0]["content"]] == [form, "text", form, "text"]
    for (samples, rate), path in zip(call.clips, (one, two), strict=True):
        assert rate == 16_000
        assert np.array_equal(samples, sf.read(path, dtype="int16")[0]), "16-bit audio comes bit for bit"


@pytest.mark.parametrize("rate", [16_000, 24_000])
def test_audio_comes_mono_at_the_rate_asked_for(tmp_path: Path, rate: int) -> None:
    clip = noise(tmp_path / "stereo.wav", rate=44_100, channels=2)
    with FakeAudio(echo) as server:
        model = model_at(server, tmp_path, sample_rate=rate)
        model.generate_until(requests(model, [question(clip, "what?")]))
    ((samples, sent_rate),) = server.calls[0].clips
    assert sent_rate == rate
    assert len(samples) == round(0.5 * rate)
    assert np.array_equal(samples, heard(clip, rate))


def test_arrays_and_data_uris_are_sent_too(tmp_path: Path) -> None:
    array = {"array": np.linspace(-0.5, 0.5, 800, dtype=np.float32), "sampling_rate": 16_000}
    uri = audio.data_uri(noise(tmp_path / "a.wav"))
    with FakeAudio(echo) as server:
        model = model_at(server, tmp_path)
        model.generate_until(requests(model, [question(array, {"bytes": (tmp_path / "a.wav").read_bytes()}, "x")]))
        model.generate_until(requests(model, [[{"type": "audio", "url": uri}]]))
    first, second = (call.clips for call in server.calls)
    assert np.array_equal(first[0][0], np.rint(array["array"] * 32768).astype(np.int16))
    assert np.array_equal(first[1][0], second[0][0])
    assert np.array_equal(second[0][0], sf.read(tmp_path / "a.wav", dtype="int16")[0])


def test_text_alone_is_plain_text(tmp_path: Path) -> None:
    with FakeAudio(echo) as server:
        model = model_at(server, tmp_path)
        model.generate_until(requests(model, [question("what?")]))
    assert server.calls[0].body["messages"] == [{"role": "user", "content": "what?"}]


def test_images_are_sent_as_they_are(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    picture = image.new("RGB", (3, 2), (10, 200, 30))
    picture.save(tmp_path / "a.png")
    picture.save(tmp_path / "a.jpg")
    parts = [{"type": "image", "url": url} for url in (str(tmp_path / "a.png"), str(tmp_path / "a.jpg"), picture)]
    with FakeAudio(echo) as server:
        model = model_at(server, tmp_path)
        model.generate_until(requests(model, [[*parts, {"type": "text", "text": "x"}]]))
    png, jpeg, drawn = (part["url"] for part in server.calls[0].parts("image_url"))
    assert data_uri(png, "image/png") == (tmp_path / "a.png").read_bytes()
    assert data_uri(jpeg, "image/jpeg") == (tmp_path / "a.jpg").read_bytes()
    sent = image.open(io.BytesIO(data_uri(drawn, "image/png")))
    assert (sent.size, sent.getpixel((1, 1))) == ((3, 2), (10, 200, 30))
    with pytest.raises(ModelError, match="PNG, JPEG, GIF or WEBP"):
        image_uri(b"%PDF")


def test_turns_keep_their_roles(tmp_path: Path) -> None:
    clip = noise(tmp_path / "a.wav")
    talk = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": question(clip, "first?")},
        {"role": "assistant", "content": "one"},
        {"role": "user", "content": "second?"},
    ]
    with FakeAudio(echo) as server:
        model = model_at(server, tmp_path)
        (request,) = requests(model, ["x"])
        request.arguments = (request.arguments[0], lambda doc: talk, *request.arguments[2:])
        assert model.generate_until([request]) == ["re: second?"]
    (call,) = server.calls
    assert [message["role"] for message in call.body["messages"]] == ["system", "user", "assistant", "user"]
    assert [message["content"] for message in call.body["messages"][2:]] == ["one", "second?"]
    assert len(call.clips) == 1


def test_a_system_prompt_comes_first_where_there_is_none(tmp_path: Path) -> None:
    with FakeAudio(echo) as server:
        model = model_at(server, tmp_path, system_prompt="Be brief.")
        own, other = requests(model, ["x", "y"])
        talk = [{"role": "system", "content": "Be long."}, {"role": "user", "content": "y"}]
        other.arguments = (other.arguments[0], lambda doc: talk, *other.arguments[2:])
        model.generate_until([own, other])
    sent = {call.prompt: [message["content"] for message in call.body["messages"]] for call in server.calls}
    assert sent == {"x": ["Be brief.", "x"], "y": ["Be long.", "y"]}


def test_rounds_are_played_side_by_side(tmp_path: Path) -> None:
    with FakeAudio(echo) as server:
        model = model_at(server, tmp_path)
        made = episodes(model, ["a", "b"], counting(2, []))
        assert model.generate_until_multi_round(made) == [["re: a|re: a1"], ["re: b|re: b1"]]
    assert sorted(call.prompt for call in server.calls[:2]) == ["a", "b"]


def test_the_tasks_generation_arguments_are_sent(tmp_path: Path) -> None:
    with FakeAudio(says("yes\n\nno")) as server:
        model = model_at(server, tmp_path)
        asked = requests(model, ["x"], max_new_tokens=7, temperature=0, do_sample=False, until=["\n\n"])
        assert model.generate_until(asked) == ["yes"]
        model = model_at(server, tmp_path, max_new_tokens=3)
        model.generate_until(requests(model, ["x"], temperature=0))
    assert [call.body["max_tokens"] for call in server.calls] == [7, 3]
    assert {call.body["temperature"] for call in server.calls} == {0}
    assert "seed" not in server.calls[0].body


def test_sampled_answers_have_seeds_that_differ_and_come_again(tmp_path: Path) -> None:
    import torch

    def seeds(seed: int) -> list[int]:
        torch.manual_seed(seed)
        with FakeAudio(echo) as server:
            model = model_at(server, tmp_path, resume=False, concurrency=1)
            model.generate_until(requests(model, ["x", "x"], temperature=0.7) * 2)
        return [call.body["seed"] for call in server.calls]

    first = seeds(1)
    assert len(set(first)) == 4
    assert seeds(1) == first
    assert set(seeds(2)).isdisjoint(first)


# ------------------------------------------------------------------------------------------------------- arguments

BAD = [
    ({"model": None}, "openai_audio needs model="),
    ({"audio": "input"}, "audio='input' is not known; did you mean input_audio"),
    ({"sample_rate": 10}, "sample_rate must be a whole number of at least 1000"),
    ({"timeout": 0}, "timeout must be a number of seconds above 0"),
    ({"concurrency": 0}, "concurrency must be a whole number of at least 1"),
    ({"extra_body": "[1]"}, "extra_body must be a JSON object"),
    ({"extra_body": "{"}, "extra_body must be a JSON object"),
    ({"extra_body": "/nowhere.json"}, "extra_body must be a JSON object or a file that holds one"),
    ({"api_key_env": "NO_SUCH_KEY"}, "api_key_env=NO_SUCH_KEY: there is no such environment variable"),
    ({"api_key": "secret"}, "no argument 'api_key'; did you mean api_key_env"),
    ({"base_url": "http://u:secret@host"}, "must not hold a user"),
]


@pytest.mark.parametrize(("arguments", "told"), BAD)
def test_bad_arguments_are_refused_in_one_line(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(ModelError, match=told) as caught:
        OpenAIAudio(**{"model": "m", "base_url": "http://localhost:1/v1", "device": "cpu", **arguments})
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_arguments_as_the_host_hands_them_over(tmp_path: Path) -> None:
    (tmp_path / "more.json").write_text('{"top_k": 3}')
    with FakeAudio(echo) as server:
        for extra in (f"{tmp_path}/more.json", '{"top_k": 3, "seed": 1}'):
            line = f"model=m,base_url={server.url},timeout=30,extra_body={extra},cache_dir={tmp_path}"
            model: Any = OpenAIAudio.create_from_arg_string(line, {"batch_size": 1, "device": "cpu"})
            model.generate_until(requests(model, ["x"]))
    assert [call.body["top_k"] for call in server.calls] == [3, 3]


def test_another_variable_can_hold_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_KEY", "the-other")
    with FakeAudio(echo) as server:
        model = model_at(server, tmp_path, api_key_env="OTHER_KEY")
        model.generate_until(requests(model, ["x"]))
    assert server.calls[0].headers["authorization"] == "Bearer the-other"
    kept = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert "re: x" in kept and "the-other" not in kept


# ---------------------------------------------------------------------------------------------------------- faults


def test_a_bad_recording_costs_its_item_alone(tmp_path: Path) -> None:
    good, broken = noise(tmp_path / "a.wav"), tmp_path / "b.wav"
    broken.write_bytes(good.read_bytes()[:200])
    with FakeAudio(echo) as server:
        model = model_at(server, tmp_path, give_up_after=1)
        found = model.generate_until(requests(model, [question(good, "x"), question(broken, "y")]))
    assert found[0] == "re: x"
    assert is_error(found[1]) and "b.wav" in found[1]
    assert len(server.calls) == 1, "nothing is asked without its audio"


def test_a_recording_longer_than_allowed_is_not_sent(tmp_path: Path) -> None:
    short, long = noise(tmp_path / "a.wav", 1.0), noise(tmp_path / "b.wav", 1.2)
    with FakeAudio(echo) as server:
        model = model_at(server, tmp_path, max_audio_seconds=1)
        found = model.generate_until(requests(model, [question(short, "x"), question(long, "y")]))
    assert found[0] == "re: x"
    assert "a recording of 1.2 s, more than max_audio_seconds=1" in found[1] and is_error(found[1])


def test_a_wrong_key_ends_the_run_before_all_is_sent(tmp_path: Path) -> None:
    with FakeAudio(lambda call: Reply("wrong", status=401)) as server:
        model = model_at(server, tmp_path, concurrency=2)
        with pytest.raises(ModelError, match=r"wants a key \(status 401\)"):
            model.generate_until(requests(model, [str(number) for number in range(50)]))
    assert len(server.calls) <= 4


@pytest.mark.e2e
def test_a_wrong_key_is_one_line_at_the_end_and_exit_code_1(tmp_path: Path) -> None:
    key = "sk-wrong-0123456789"
    with FakeAudio(lambda call: Reply(f"Incorrect API key provided: {key}", status=401)) as server:
        done = subprocess.run(
            [str(Path(sys.executable).parent / "lmms_eval"), "--audio_data", "demo", "--tasks", "sakura_single"]
            + ["--model", "openai_audio", "--model_args", f"model=m,base_url={server.url},cache_dir={tmp_path}"],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            env={**os.environ, "OPENAI_API_KEY": key},
        )
        assert len(server.calls) <= 16
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ERROR: the server at {server.url} refused the key (status 401)")
    assert "Traceback" not in done.stderr
    assert key not in done.stdout + done.stderr


def test_answers_until_the_server_died_are_kept(tmp_path: Path) -> None:
    alive = True

    def answer(call: Call) -> Reply:
        return echo(call) if alive and call.number <= 7 else Reply("dead", status=500 if alive else 200)

    texts = [str(number) for number in range(30)]
    with FakeAudio(answer) as server:
        model = model_at(server, tmp_path, concurrency=1, max_retries=0, give_up_after=3)
        with pytest.raises(ModelError, match="failed 3 requests in a row"):
            model.generate_until(requests(model, texts))
        assert len(server.calls) == 10
        alive = False
        model = model_at(server, tmp_path)
        found = model.generate_until(requests(model, texts))
        assert found == [*(f"re: {text}" for text in texts[:7]), *["dead"] * 23]
        assert len(server.calls) == 33


# ---------------------------------------------------------------------------------------------------------- resume

KILLED = """
import sys
sys.path.insert(0, sys.argv[1])
from test_models_base import requests
from lmms_audio_tasks.models.openai_audio import OpenAIAudio
model = OpenAIAudio(model="m", base_url=sys.argv[2], cache_dir=sys.argv[3], device="cpu", concurrency=4)
print(model.generate_until(requests(model, [f"text {n}" for n in range(60)])))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_killed_run_repeats_at_most_what_was_under_way(tmp_path: Path) -> None:
    victim: subprocess.Popen[str]

    def answer(call: Call) -> Reply:
        if call.number == 30:
            os.kill(victim.pid, signal.SIGKILL)
        return echo(call)

    with FakeAudio(answer, latency=0.02) as server:
        command = [sys.executable, "-c", KILLED, str(TESTS), server.url, str(tmp_path)]
        victim = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        assert victim.wait(timeout=300) == -signal.SIGKILL
        server.wait_until_alone()
        first = server.asked()
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
        total = server.asked()
    assert done.stdout.strip() == str([f"re: text {number}" for number in range(60)])
    # What the dead process had sent already still came in.
    assert 30 <= sum(first.values()) < 30 + 4
    assert set(first.values()) == {1}
    assert len(total) == 60
    assert sum(total.values()) <= 60 + 4
    assert set(total.values()) <= {1, 2}


def test_only_what_changes_answers_is_in_the_key(tmp_path: Path) -> None:
    with FakeAudio(echo) as server, FakeAudio(echo) as other:

        def asks(at: FakeAudio, **arguments: Any) -> bool:
            before = len(at.calls)
            model = model_at(at, tmp_path, **arguments)
            model.generate_until(requests(model, ["x"]))
            return len(at.calls) > before

        assert asks(server)
        assert not asks(server, concurrency=1, timeout=5, max_retries=0, batch_size=8)
        assert asks(server, model="other")
        assert asks(server, max_new_tokens=3)
        assert asks(server, audio="audio_url")
        assert asks(server, sample_rate=8000)
        assert asks(server, system_prompt="Be brief.")
        assert asks(server, extra_body='{"a": 1}')
        assert asks(other), "another server may serve another model by the same name"
        assert asks(server, server="mine")
        assert not asks(other, server="mine")


# ----------------------------------------------------------------------------------------------------------- ranks

SHARED = """
import json, sys
sys.path.insert(0, {tests!r})
from test_models_base import requests
from lmms_audio_tasks.models.openai_audio import OpenAIAudio
model = OpenAIAudio(model="m", base_url={url!r}, cache_dir={cache!r})
made = requests(model, [f"text {{n}}" for n in range(10)])
answers = model.generate_until(made[model.rank :: model.world_size])
model.accelerator.wait_for_everyone()
print(json.dumps([model.rank, model.world_size, answers]))
"""


def test_two_ranks_share_the_work(tmp_path: Path) -> None:
    with FakeAudio(echo) as server:
        script = SHARED.format(tests=str(TESTS), url=server.url, cache=str(tmp_path))
        finished: Sequence[Any] = run_ranks(script)
    whole = [f"re: text {number}" for number in range(10)]
    for rank, done in enumerate(finished):
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout.splitlines()[-1]) == [rank, 2, whole[rank::2]]
    assert set(server.asked().values()) == {1} and len(server.calls) == 10
