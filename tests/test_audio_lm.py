"""`audio_lm` with a tiny random Qwen2-Audio: arguments, batches, failures, long recordings, kept answers, ranks."""

from __future__ import annotations

import json
import logging
import shutil
import threading
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
import torch
from lmms_eval.api.instance import Instance
from model_requests import GREEDY, RATE, ask, noise, requests, user, write_noise
from safetensors.torch import load_file, save_file
from test_models_chance import run_ranks
from tiny_audio_lms import make_qwen2_audio
from tiny_models import make_llm

from lmms_audio_tasks import audio
from lmms_audio_tasks.errors import AudioTasksError, ModelError
from lmms_audio_tasks.models.audio_lm import AudioLM
from lmms_audio_tasks.models.chat import ChatModel
from lmms_audio_tasks.models.generation import Generation
from lmms_audio_tasks.models.jobs import AHEAD, Job, schedule
from lmms_audio_tasks.models.messages import Part, Prompt, Turn
from lmms_audio_tasks.models.prefetch import Decoder
from lmms_audio_tasks.models.windows import Windows
from lmms_audio_tasks.records import is_error


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_qwen2_audio(tmp_path_factory.mktemp("qwen2_audio"))


@pytest.fixture
def make(folder: Path, tmp_path: Path) -> Callable[..., AudioLM]:
    def build(**arguments: Any) -> AudioLM:
        return AudioLM(**{"pretrained": folder, "device": "cpu", "cache_dir": tmp_path / "cache", **arguments})

    return build


@pytest.fixture
def clips(tmp_path: Path) -> list[Path]:
    (tmp_path / "clips").mkdir()
    return [
        write_noise(tmp_path / "clips" / f"clip_{number}.wav", number, seconds)
        for number, seconds in enumerate((0.8, 2.9, 1.7, 0.8, 4.1))
    ]


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The sources that are decoded."""
    sources: list[Any] = []
    original = audio.load

    def load(source: Any, rate: int | None = None) -> Any:
        sources.append(source)
        return original(source, rate)

    monkeypatch.setattr(audio, "load", load)
    return sources


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the batches that the model is given."""
    sizes: list[int] = []
    original = ChatModel.generate

    def generate(self: Any, inputs: Any, how: Generation) -> list[str]:
        sizes.append(len(inputs["input_ids"]))
        return original(self, inputs, how)

    monkeypatch.setattr(ChatModel, "generate", generate)
    return sizes


def about(clips: Sequence[Any], text: str = "What is it?") -> list[list[Any]]:
    return [[user(clip, text)] for clip in clips]


# ----------------------------------------------------------------------------------------------- what the model is told


def test_recording_is_the_same_whatever_its_source(make: Callable[..., AudioLM], clips: list[Path]) -> None:
    samples, rate = audio.load(clips[0])
    uri = f"data:audio/wav;base64,{b64encode(clips[0].read_bytes()).decode()}"
    sources = [clips[0], {"type": "audio", "array": samples, "sampling_rate": rate}]
    by_path, by_array, other = ask(make(resume=False), about([*sources, clips[1]]))
    parts = [{"type": "audio", "url": uri}, {"type": "text", "text": "What is it?"}]
    (by_uri,) = ask(make(resume=False), [[{"role": "user", "content": parts}]])
    assert by_path == by_array == by_uri != other


def test_recording_at_another_rate_is_resampled_and_mixed_down(
    make: Callable[..., AudioLM], clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np

    given: list[Any] = []
    original = ChatModel.prepare

    def prepare(self: Any, conversations: Any) -> Any:
        given.extend(part["audio"] for part in conversations[0][0]["content"] if part["type"] == "audio")
        return original(self, conversations)

    monkeypatch.setattr(ChatModel, "prepare", prepare)
    stereo = {"array": np.stack([noise(1, 1.0), noise(2, 1.0)]), "sampling_rate": 8_000}
    ask(make(), about([stereo]))
    (samples,) = given
    assert samples.dtype == np.float32 and samples.shape == (2 * RATE,)


def test_system_prompt_comes_first_where_there_is_none(
    make: Callable[..., AudioLM], clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    original = ChatModel.prepare
    monkeypatch.setattr(
        ChatModel, "prepare", lambda self, conversations: seen.extend(conversations) or original(self, conversations)
    )
    own = [{"role": "system", "content": "Mine."}, user("What?")]
    plain, given, _ = ask(make(system_prompt="Be brief."), [[user("What?")], own, [user("Why?")]])
    systems = sorted(conversation[0]["content"] for conversation in seen)
    assert systems == ["Be brief.", "Be brief.", "Mine."]
    assert plain != given
    assert ask(make(resume=False), [[{"role": "system", "content": "Be brief."}, user("What?")]]) == [plain]


@pytest.mark.parametrize(
    ("begins", "why"),
    [
        ("{%- set messages = messages | selectattr('role', 'ne', 'system') | list -%}", "leaves it out"),
        ("{%- if messages[0].role == 'system' -%}{{ raise_exception('no system role') }}{%- endif -%}", "refuses it"),
    ],
)
def test_system_prompt_that_the_template_would_drop_is_refused(
    folder: Path, make: Callable[..., AudioLM], tmp_path: Path, begins: str, why: str
) -> None:
    own = shutil.copytree(folder, tmp_path / "own")
    (template,) = own.glob("chat_template.jinja")
    template.write_text(begins + template.read_text("utf-8"), "utf-8")
    assert make(pretrained=own)
    with pytest.raises(ModelError, match=f"system_prompt=: the model's chat template {why}"):
        make(pretrained=own, system_prompt="Be brief.")


def test_tasks_of_several_rounds(make: Callable[..., AudioLM], clips: list[Path], loaded: list[Any]) -> None:
    def hook(doc: Any, round_idx: int = 0, previous_output: Sequence[str] = (), previous_round_info: Any = None) -> Any:
        turns: list[Any] = [user(doc["clip"], "What is it?")]
        for answer, text in zip(previous_output, ("Sure?", "Why?"), strict=False):
            turns += [{"role": "assistant", "content": answer}, user(text)]
        return turns if round_idx == 0 else (turns, round_idx == 3, list(previous_output), None)

    model = make(batch_size=2)
    model.task_dict["rounds"] = {"test": [{"clip": clip} for clip in clips[:3]]}
    asked = [
        Instance("generate_until_multi_round", ("", hook, dict(GREEDY), number, "rounds", "test"), 0,
                 {"task": "rounds", "doc_id": number, "repeats": 1})
        for number in range(3)
    ]  # fmt: skip
    rounds = model.generate_until_multi_round(asked)
    assert [len(outputs) for outputs in rounds] == [3, 3, 3]
    alone = make(resume=False)
    for clip, outputs in zip(clips, rounds, strict=False):
        conversation = [user(clip, "What is it?")]
        for answer, text in zip(outputs, ("Sure?", "Why?", ""), strict=True):
            assert ask(alone, [conversation]) == [answer]
            conversation += [{"role": "assistant", "content": answer}, user(text)]
    # Once by each model.
    assert Counter(loaded) == Counter(2 * [str(clip) for clip in clips[:3]])


def test_generation_arguments_are_obeyed(make: Callable[..., AudioLM], clips: list[Path]) -> None:
    (whole,) = ask(make(), about(clips[:1]))
    (short,) = ask(make(max_new_tokens="3"), about(clips[:1]))
    assert len(short) <= 3 < len(whole) and whole.startswith(short)
    stop = whole[4]
    (cut,) = ask(make(), about(clips[:1]), {**GREEDY, "until": [stop]})
    assert cut == whole[: whole.index(stop)].strip()
    torch.manual_seed(0)
    sampled = {"max_new_tokens": 12, "do_sample": True, "temperature": 2.0}
    assert len(set(ask(make(), about(clips[:1] * 3), sampled))) > 1


def test_prompt_beyond_the_context_is_an_error(
    make: Callable[..., AudioLM], clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make(batch_size=2)
    monkeypatch.setattr(model._chat, "_room", 200)
    short, long = ask(model, [[user(clips[0], "What?")], [user(clips[0], "What? " * 40)]])
    assert not is_error(short)
    assert is_error(long) and "exceed the model's 200" in long


# -------------------------------------------------------------------------------------------------------------- batches


def job(index: int, lengths: tuple[int, ...], text: str = "", image: bool = False, new: int = 8) -> Job:
    parts = (Part("image", None),) if image else ()
    prompt = Prompt((Turn("user", (*parts, Part("text", text))),))
    return Job(index, prompt, Generation.of({"max_new_tokens": new}), lengths, sum(lengths) + len(text))


@pytest.mark.parametrize(
    ("equal", "expected"),
    [
        # By size: 9, 5, 5, 3, 1 with recordings; 4 and 2 without; 6 with an image; 7 is to be answered in other words.
        (False, [[4, 0], [7], [6], [1, 3], [8, 5], [2]]),
        (True, [[4], [7], [6], [0, 1], [8, 5], [3], [2]]),
    ],
)
def test_schedule(equal: bool, expected: list[list[int]]) -> None:
    jobs = [
        job(0, (5,)),
        job(1, (5,)),
        job(2, (1,)),
        job(3, (3,)),
        job(4, (9,)),
        job(5, (), "ab"),
        job(6, (6,), image=True),
        job(7, (7,), new=9),
        job(8, (), "abcd"),
    ]
    found = schedule(jobs, 2, equal)
    assert [[job.index for job in batch] for batch in found] == expected


def test_batch_size_auto(make: Callable[..., AudioLM], clips: list[Path], batches: list[int]) -> None:
    ask(make(batch_size="auto"), [*about(clips), *about(clips, "And?")])
    assert batches == [8, 2]


def test_out_of_memory_halves_the_batches_from_there_on(
    make: Callable[..., AudioLM], clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = ask(make(resume=False), about([*clips, *clips[:1]]))
    sizes: list[int] = []
    original = ChatModel.generate

    def generate(self: Any, inputs: Any, how: Generation) -> list[str]:
        sizes.append(len(inputs["input_ids"]))
        if sizes[-1] > 2:
            raise torch.OutOfMemoryError("too much")
        return original(self, inputs, how)

    monkeypatch.setattr(ChatModel, "generate", generate)
    conversations = [*about(clips), *about(clips, "And?"), *about(clips, "Then?"), *about(clips, "Now?")]
    found = ask(make(batch_size=4), conversations)
    assert found[: len(clips)] == alone[: len(clips)]
    # Those prepared ahead are of four still.
    assert sizes == [4, 2, 2] * (1 + AHEAD) + [2] * (len(conversations) // 2 - 2 * (1 + AHEAD))


def test_batch_that_fails_costs_only_the_item_at_fault(
    make: Callable[..., AudioLM], clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = ask(make(resume=False), about(clips))
    original = ChatModel.prepare

    def prepare(self: Any, conversations: Any) -> Any:
        if any(len(conversation[0]["content"][0]["audio"]) == round(1.7 * RATE) for conversation in conversations):
            raise ValueError("cannot bear it")
        return original(self, conversations)

    monkeypatch.setattr(ChatModel, "prepare", prepare)
    found = ask(make(batch_size=4), about(clips))
    assert is_error(found[2]) and "cannot bear it" in found[2]
    assert [*found[:2], *found[3:]] == [*alone[:2], *alone[3:]]


def test_recordings_that_fail_give_errors_and_the_others_answers(
    make: Callable[..., AudioLM], clips: list[Path], tmp_path: Path, batches: list[int]
) -> None:
    good = ask(make(resume=False), about(clips[:2]))
    batches.clear()
    # Its header is whole, so that only decoding finds out.
    damaged = tmp_path / "damaged.flac"
    import soundfile

    soundfile.write(damaged, noise(3, 2.0), RATE)
    damaged.write_bytes(damaged.read_bytes()[:20_000])
    asked = about([damaged, clips[0], tmp_path / "missing.wav", clips[1]])
    broken, first, missing, second = ask(make(batch_size=4), asked)
    assert [first, second] == good
    assert is_error(broken) and "damaged.flac" in broken
    assert is_error(missing) and "no such file" in missing
    assert batches == [2], "the batch was not tried again for a recording that cannot be had"


# ---------------------------------------------------------------------------------------------- decoded once, and ahead


def test_each_recording_is_decoded_once_for_all_tasks(
    make: Callable[..., AudioLM], clips: list[Path], loaded: list[Any]
) -> None:
    model = make(batch_size=2)
    longer = {**GREEDY, "max_new_tokens": 13}
    asked = [
        *requests(model, about(clips), task="single"),
        *requests(model, about(clips, "What does it eat?"), longer, task="multi"),
        *requests(model, about(clips, "Where?"), task="third"),
    ]
    model.generate_until(asked)
    assert Counter(loaded) == Counter(map(str, clips))


def test_recordings_in_tables_are_decoded_once_too(make: Callable[..., AudioLM], loaded: list[Any]) -> None:
    arrays = [{"array": noise(seed, 1.0), "sampling_rate": RATE} for seed in range(3)]
    ask(make(), [*about(arrays), *about(arrays, "Where?")])
    assert len(loaded) == 3


def test_batches_are_made_ahead_but_not_all_at_once(
    make: Callable[..., AudioLM], clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[int] = []
    seen: list[int] = []
    enough = threading.Event()
    prepare, generate = ChatModel.prepare, ChatModel.generate

    def preparing(self: Any, conversations: Any) -> Any:
        prepared.append(threading.get_ident())
        if len(prepared) == 1 + AHEAD:
            enough.set()
        return prepare(self, conversations)

    def generating(self: Any, inputs: Any, how: Generation) -> list[str]:
        if not seen:
            # While the model is at work on the first batch, the next are made.
            assert enough.wait(timeout=120)
        seen.append(len(prepared))
        return generate(self, inputs, how)

    monkeypatch.setattr(ChatModel, "prepare", preparing)
    monkeypatch.setattr(ChatModel, "generate", generating)
    model = make()
    asked = [*about(clips), *about(clips, "And?")]
    assert not any(map(is_error, ask(model, asked)))
    assert threading.get_ident() not in prepared
    assert seen[0] == 1 + AHEAD and all(count <= done + 1 + AHEAD for done, count in enumerate(seen))


def test_recordings_are_not_decoded_again_in_later_rounds(
    make: Callable[..., AudioLM], clips: list[Path], loaded: list[Any]
) -> None:
    model = make()
    for text in ("One?", "Two?", "Three?"):
        ask(model, about(clips, text))
    assert len(loaded) == len(clips)


def test_model_is_let_go_and_comes_back(make: Callable[..., AudioLM], clips: list[Path]) -> None:
    model = make(resume=False)
    before = ask(model, about(clips[:2]))
    model.clean()
    assert model._loaded is None
    assert ask(model, about(clips[:2])) == before


def test_decoder_forgets_the_longest_unused(tmp_path: Path, loaded: list[Any]) -> None:
    paths = [str(write_noise(tmp_path / f"{number}.wav", number, 1.0)) for number in range(3)]
    one = 4 * RATE
    with Decoder(RATE, threads=1, kept=one) as decoder:

        def get(number: int) -> int:
            return len(decoder.clip(paths[number], lambda: paths[number]).result())

        assert [get(0), get(1), get(0), get(2)] == [RATE] * 4
        # 0, 1 and 2 lie there until the next is wanted; then 1 goes.
        assert [get(0), get(2)] == [RATE] * 2
        assert loaded == paths
        get(1)
        assert loaded == [*paths, paths[1]]


def test_decoder_tells_what_went_wrong_in_its_place(tmp_path: Path) -> None:
    with Decoder(RATE) as decoder:
        clip: Future[Any] = decoder.clip("a", lambda: str(tmp_path / "none.wav"))
        with pytest.raises(AudioTasksError, match="no such file"):
            clip.result()


# ------------------------------------------------------------------------------------------------------ long recordings


@pytest.mark.parametrize(
    ("choice", "pieces"), [("chunk", [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]), ("truncate", [[0, 1, 2, 3]])]
)
def test_windows(choice: str, pieces: list[list[int]], caplog: pytest.LogCaptureFixture) -> None:
    import numpy as np

    windows = Windows(4, 2, choice)
    assert [piece.tolist() for piece in windows.apply("a", np.arange(10, dtype=np.float32))] == pieces
    # Asked about twice; it is one recording still.
    windows.apply("a", np.arange(10, dtype=np.float32))
    assert len(windows.apply("b", np.zeros(4, np.float32))) == 1
    windows.report()
    assert f"1 recordings were {'split' if choice == 'chunk' else 'cut'} at 2 s" in caplog.text
    caplog.clear()
    windows.report()
    assert not caplog.text


def test_no_piece_is_too_short_to_hear() -> None:
    import numpy as np

    windows = Windows(400, 100, "chunk")
    whole, last = windows.apply("a", np.ones(401, np.float32))
    assert len(whole) == 400 and last.tolist() == [1, *[0] * 9]
    (short,) = windows.apply("b", np.ones(3, np.float32))
    assert short.tolist() == [1, 1, 1, *[0] * 7]


def test_long_recordings(make: Callable[..., AudioLM], caplog: pytest.LogCaptureFixture) -> None:
    samples = noise(1, 40.5)
    long = {"array": samples, "sampling_rate": RATE}
    first, rest = ({"array": part, "sampling_rate": RATE} for part in (samples[: 30 * RATE], samples[30 * RATE :]))
    pieces, beginning = ask(make(), [[user(first, rest, "What?")], [user(first, "What?")]])
    with caplog.at_level(logging.INFO):
        refused, heard = ask(make(), [[user(long, "What?")], [user(first, "What?")]])
    assert is_error(refused) and "40.5 s, of which the model hears 30 s; long_audio=chunk" in refused
    assert heard == beginning
    assert "recordings beyond 30 s are an error (long_audio=error)" in caplog.text
    assert ask(make(long_audio="chunk"), [[user(long, "What?")]]) == [pieces]
    assert ask(make(long_audio="truncate"), [[user(long, "What?")]]) == [beginning]
    assert "1 recordings were split at 30 s" in caplog.text and "1 recordings were cut at 30 s" in caplog.text
    assert pieces != beginning


# --------------------------------------------------------------------------------------------------------- kept answers


def test_answers_are_kept_by_all_that_changes_them(
    make: Callable[..., AudioLM], clips: list[Path], batches: list[int], tmp_path: Path
) -> None:
    def asked(**arguments: Any) -> int:
        batches.clear()
        ask(make(**arguments), about(clips))
        return sum(batches)

    assert asked() == 5
    assert asked() == asked(batch_size=4) == asked(threads=torch.get_num_threads()) == 0
    assert asked(dtype="bfloat16") == asked(long_audio="chunk") == asked(system_prompt="Hm.") == 5
    assert asked(max_new_tokens=3) == asked(resume=False) == 5
    write_noise(clips[0], 77)
    assert asked() == 1
    settings = [json.loads(path.read_text()) for path in (tmp_path / "cache").rglob("settings.json")]
    assert {setting["long_audio"] for setting in settings} == {"error", "chunk"}


def test_what_was_answered_before_a_failure_is_kept(
    make: Callable[..., AudioLM], clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = ChatModel.generate
    calls: list[int] = []

    def generate(self: Any, inputs: Any, how: Generation) -> list[str]:
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return original(self, inputs, how)

    monkeypatch.setattr(ChatModel, "generate", generate)
    with pytest.raises(KeyboardInterrupt):
        ask(make(), about(clips))
    calls.clear()
    monkeypatch.setattr(ChatModel, "generate", lambda *given: calls.append(1) or original(*given))
    assert not any(map(is_error, ask(make(), about(clips))))
    assert len(calls) == 2, "three of five were answered"


# ------------------------------------------------------------------------------------------------------------ arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pretrained": None}, "audio_lm needs pretrained=<folder or hub id>"),
        ({"pretrained": "/nowhere/model"}, "pretrained=/nowhere/model: cannot be loaded"),
        ({"pretraned": "x"}, r"audio_lm has no argument 'pretraned'; did you mean pretrained"),
        ({"batch_size": "many"}, "batch_size must be a whole number of at least 1, not 'many'"),
        ({"long_audio": "cut"}, "long_audio='cut' is not known"),
        ({"dtype": "float8"}, "dtype='float8' is not known"),
        ({"device_map": "balanced"}, "device_map='balanced' is not known"),
        ({"trust_remote_code": 2}, "trust_remote_code must be true or false"),
    ],
)
def test_bad_arguments_are_refused(make: Callable[..., AudioLM], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make(**arguments)


def test_text_model_is_refused(make: Callable[..., AudioLM], tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no audio language model"):
        make(pretrained=make_llm(tmp_path / "llm"))


def test_model_without_chat_template_is_refused(folder: Path, make: Callable[..., AudioLM], tmp_path: Path) -> None:
    from tiny_audio_lms import make_glm_asr

    base = make_glm_asr(tmp_path / "base")
    for template in base.glob("chat_template*"):
        template.unlink()
    for name in ("tokenizer_config.json", "processor_config.json"):
        settings = json.loads((base / name).read_text())
        settings.pop("chat_template", None)
        (base / name).write_text(json.dumps(settings))
    with pytest.raises(ModelError, match="no chat template; is there an instruction-tuned version"):
        make(pretrained=base)


OWN_CODE = """
from transformers import Qwen2AudioConfig, Qwen2AudioForConditionalGeneration

class ListenerConfig(Qwen2AudioConfig):
    model_type = "listener"

class Listener(Qwen2AudioForConditionalGeneration):
    config_class = ListenerConfig
"""


def test_model_with_its_own_code_needs_leave(
    folder: Path, make: Callable[..., AudioLM], clips: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    own = tmp_path / "own"
    shutil.copytree(folder, own)
    (own / "listener.py").write_text(OWN_CODE)
    config = json.loads((own / "config.json").read_text())
    config["model_type"] = "listener"
    config["auto_map"] = {"AutoConfig": "listener.ListenerConfig", "AutoModel": "listener.Listener"}
    (own / "config.json").write_text(json.dumps(config))
    # In a checkpoint of transformers' own class some weights have other names.
    save_file(make()._chat._model.state_dict(), own / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"cannot be loaded: .*trust_remote_code=True"):
        make(pretrained=own)
    model = make(pretrained=own, trust_remote_code=True, batch_size=4)
    assert type(model._chat._model).__name__ == "Listener"
    assert ask(model, about(clips)) == ask(make(), about(clips))


def test_checkpoint_without_some_weights_is_refused(folder: Path, make: Callable[..., AudioLM], tmp_path: Path) -> None:
    part = tmp_path / "part"
    shutil.copytree(folder, part)
    weights = load_file(part / "model.safetensors")
    del weights["audio_tower.conv1.weight"]
    save_file(weights, part / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"1 weights are not in the checkpoint .* model\.audio_tower\.conv1\.weight"):
        make(pretrained=part)


def test_damaged_checkpoint_is_refused(folder: Path, make: Callable[..., AudioLM], tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(folder, damaged)
    weights = damaged / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(ModelError, match=r"damaged: cannot be loaded: .*header"):
        make(pretrained=damaged)


def test_device_map_spreads_one_process(make: Callable[..., AudioLM], clips: list[Path]) -> None:
    assert ask(make(device_map="auto", resume=False), about(clips[:2])) == ask(make(resume=False), about(clips[:2]))


# ---------------------------------------------------------------------------------------------------------------- ranks

RANKS_SCRIPT = """
import json, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from model_requests import requests
from test_audio_lm import about
from lmms_audio_tasks.models.audio_lm import AudioLM
model = AudioLM(pretrained={folder!r}, resume=False, batch_size=2)
asked = requests(model, about([Path(clip) for clip in {clips!r}]))
answers = model.generate_until(asked[model.rank :: model.world_size])
model.accelerator.wait_for_everyone()
print(json.dumps([model.rank, model.world_size, answers]))
"""


def test_two_ranks_answer_as_one(make: Callable[..., AudioLM], clips: list[Path], folder: Path) -> None:
    whole = ask(make(), about(clips))
    script = RANKS_SCRIPT.format(tests=str(Path(__file__).parent), folder=str(folder), clips=[*map(str, clips)])
    for rank, done in enumerate(run_ranks(script)):
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout.splitlines()[-1]) == [rank, 2, whole[rank::2]]
