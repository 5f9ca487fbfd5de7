"""The chance model, and what all our model classes share: arguments, ranks, failures."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from lmms_eval.api.instance import Instance

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models import MANIFESTS
from lmms_audio_tasks.models.chance import Chance, draw
from lmms_audio_tasks.models.messages import Part, Prompt, Turn, read_messages
from lmms_audio_tasks.records import is_error

QUESTION = "Which colour has the ball? (a) red (b) dark blue (c) green (d) grey"


def requests_for(
    model: Any, texts: Sequence[str], task: str = "colours", context: Callable[[str], str] = str
) -> list[Instance]:
    """Requests as the host makes them for a chat model, one a text, without audio."""
    model.task_dict[task] = {"test": [{"text": text} for text in texts]}

    def doc_to_messages(doc: Mapping[str, str]) -> list[dict[str, Any]]:
        return [{"role": "user", "content": [{"type": "text", "text": doc["text"]}]}]

    return [
        Instance(
            "generate_until",
            (context(text), doc_to_messages, {"max_new_tokens": 8}, number, task, "test"),
            0,
            {"task": task, "doc_id": number, "repeats": 1},
        )
        for number, text in enumerate(texts)
    ]


def test_answers_are_listed_options() -> None:
    model = Chance()
    answers = model.generate_until(requests_for(model, [QUESTION] * 200))
    counts = Counter(answers)
    assert set(counts) == {"(a) red", "(b) dark blue", "(c) green", "(d) grey"}
    # 200 fair draws from 4: 50 each with a standard deviation of 6.1; the seed is fixed, so this cannot flicker.
    assert all(30 <= count <= 70 for count in counts.values())


def test_draw_is_the_same_on_every_machine() -> None:
    # From coreutils: printf '0\ncolours\n7' | sha256sum ends in ...be, for 8 in ...81; 0xbe = 190 = 2 modulo 4.
    assert draw("0\ncolours\n7", 4) == 2
    assert draw("0\ncolours\n8", 4) == 1


def test_seed_task_and_document_decide() -> None:
    def answers(seed: int, task: str = "colours") -> list[str]:
        model = Chance(seed=seed)
        return model.generate_until(requests_for(model, [QUESTION] * 40, task))

    assert answers(0) == answers(0)
    assert answers(0) != answers(1)
    assert answers(0) != answers(0, task="other")


def test_order_and_share_of_the_requests_do_not_matter() -> None:
    model = Chance()
    requests = requests_for(model, [QUESTION] * 40)
    whole = model.generate_until(requests)
    assert model.generate_until(requests[1::2]) == whole[1::2]
    assert model.generate_until(requests[::-1]) == whole[::-1]


def test_prompt_comes_from_the_messages_where_the_context_has_no_options() -> None:
    model = Chance()
    from_context = model.generate_until(requests_for(model, [QUESTION] * 8))
    assert model.generate_until(requests_for(model, [QUESTION] * 8, context=lambda text: "")) == from_context


TOLD = """This is what has happened so far.

Step 1:
Which colour? (a) red (b) blue (c) green
You answered: (a) red

Now it is your turn{}:
{}"""


def test_a_dialogue_in_one_text_is_answered_with_the_options_asked_now() -> None:
    model = Chance()
    asked = [TOLD.format(" (picture 2)", "Which way? (a) left (b) right"), TOLD.format("", "Is it far? Say yes or no.")]
    ways = set(model.generate_until(requests_for(model, [asked[0]] * 20)))
    words = set(model.generate_until(requests_for(model, [asked[1]] * 20)))
    assert (ways, words) == ({"(a) left", "(b) right"}, {"yes", "no"})
    # What is left without options has no answer, though an earlier turn lists some.
    (failed, _) = model.generate_until(requests_for(model, [TOLD.format("", "What now?"), QUESTION]))
    assert is_error(failed) and "no options in the prompt" in failed


def test_every_turn_of_a_dialogue_in_one_text_is_drawn_anew() -> None:
    """Else a wrong answer would be given again until the attempts are used up, which is not chance."""
    model, answers = Chance(), set()
    text = TOLD.format("", "Which way? (a) left (b) right")
    for _ in range(12):
        (answer,) = model.generate_until(requests_for(model, [text]))
        answers.add(answer)
        text = (
            text.replace("Now it is your turn", "Step 2")
            + f"\nYou answered: {answer}\n\nNow it is your turn:\nWhich? (a) left (b) right"
        )
    assert answers == {"(a) left", "(b) right"}


def test_no_options_is_an_error_and_not_an_answer() -> None:
    model = Chance()
    first, second = model.generate_until(requests_for(model, ["Is it raining?", QUESTION]))
    assert is_error(first) and "no options in the prompt" in first
    assert second.startswith("(")


def test_all_items_failing_ends_the_run() -> None:
    model = Chance()
    with pytest.raises(ModelError, match="all 2 items failed"):
        model.generate_until(requests_for(model, ["Is it raining?", "Is it cold?"]))


def test_no_requests_no_answers() -> None:
    assert Chance().generate_until([]) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sed": 1}, "chance has no argument 'sed'; did you mean seed?"),
        ({"qqqq": 1}, "known: batch_size, device, max_batch_size, seed"),
        ({"seed": "x"}, "seed must be a whole number of at least 0, not 'x'"),
        ({"seed": True}, "seed must be a whole number"),
        ({"seed": 0.5}, "seed must be a whole number"),
        ({"seed": "--5"}, "seed must be a whole number"),
        ({"seed": "\u00b2"}, "seed must be a whole number"),
        ({"device": "toaster"}, "device='toaster' is no device"),
        ({"device": "meta"}, "device='meta' cannot be used here: "),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message.replace("(", r"\(").replace("?", r"\?")):
        Chance(**arguments)


def test_model_args_win_over_the_options_the_host_always_passes() -> None:
    host = {"batch_size": 1, "max_batch_size": None, "device": None}
    assert Chance.create_from_arg_string("seed=3,batch_size=8", host).seed == 3


def test_host_contract() -> None:
    model = Chance()
    assert not model.is_simple
    assert model.device.type == model.accelerator.device.type
    assert (model.rank, model.world_size) == (0, 1)
    with pytest.raises(NotImplementedError, match="Chance"):
        model.loglikelihood([])


def test_manifests_name_chat_classes_of_the_host() -> None:
    from lmms_eval.models.registry_v2 import ModelManifest, ModelRegistryV2

    registry = ModelRegistryV2()
    for name, path in MANIFESTS:
        registry.register_manifest(ModelManifest(model_id=name, chat_class_path=path))
        assert registry.get_model_class(name).called() == name


def test_listing_the_models_imports_no_torch() -> None:
    script = "import sys, lmms_audio_tasks.models; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([{"role": "user", "content": "Hello"}], Prompt((Turn("user", (Part("text", "Hello"),)),))),
        (
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "audio", "url": "one.wav"},
                        {"type": "text", "text": "First."},
                        {"type": "audio", "url": "data:audio/wav;base64,UklGRg=="},
                        {"type": "text", "text": "Second."},
                    ],
                }
            ],
            Prompt(
                (
                    Turn(
                        "user",
                        (
                            Part("audio", "one.wav"),
                            Part("text", "First."),
                            Part("audio", b"RIFF"),
                            Part("text", "Second."),
                        ),
                    ),
                )
            ),
        ),
    ],
)
def test_read_messages(messages: list[dict[str, Any]], expected: Prompt) -> None:
    assert read_messages(messages) == expected


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ({"role": "tool", "content": "Be brief."}, "not one of role 'tool'"),
        ({"role": "user", "content": [{"type": "video", "url": "a.mp4"}]}, "not 'video'"),
        ({"role": "user", "content": [{"type": "audio", "url": "data:audio/wav,abc"}]}, "base64"),
        ({"role": "user", "content": [{"type": "audio", "url": "data:audio/wav;base64,?"}]}, "base64"),
    ],
)
def test_messages_that_would_be_half_read_are_refused(message: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ModelError, match=complaint):
        read_messages([message])


# -------------------------------------------------------------------------------------------------------- several ranks


def free_port() -> int:
    """A port at which nobody listens; below those that systems give out themselves, so that it is free a while."""
    while True:
        port = 20_000 + secrets.randbelow(10_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def run_ranks(script: str, count: int = 2) -> list[subprocess.CompletedProcess[str]]:
    """Run `script` as `count` CPU ranks, as `torchrun` starts them."""
    shared = {
        "ACCELERATE_USE_CPU": "true",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "OMP_NUM_THREADS": "1",
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            env={**os.environ, **shared, "WORLD_SIZE": str(count), "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]
    finished = []
    try:
        for process in processes:
            out, err = process.communicate(timeout=600)
            finished.append(subprocess.CompletedProcess(process.args, process.returncode, out, err))
    finally:
        for process in processes:
            process.kill()
    return finished


SHARED_SCRIPT = """
import json, sys
sys.path.insert(0, {tests!r})
from test_models_chance import QUESTION, requests_for
from lmms_audio_tasks.models.chance import Chance
model = Chance()
requests = requests_for(model, [QUESTION] * 10)
answers = model.generate_until(requests[model.rank :: model.world_size])
model.accelerator.wait_for_everyone()
print(json.dumps([model.rank, model.world_size, answers]))
"""

FAILING_SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from test_models_chance import QUESTION, requests_for
from lmms_audio_tasks.models.base import AudioTasksModel
from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models import ranks
from lmms_audio_tasks.models.ranks import together

class Broken(AudioTasksModel):
    def __init__(self, **unknown):
        super().__init__(None, unknown)

    def answer(self, items):
        if self.rank == 1:
            raise MemoryError("no room")
        return enumerate(["yes"])

model = Broken()
ranks.GRACE_SECONDS = 2
# The host's response cache may leave the model of one rank uncalled; nobody may wait for that.
if model.rank == 0:
    with together("agentic", everyone=False):
        pass
model.accelerator.wait_for_everyone()
# Here both come, and on a busy machine one may be long behind.
ranks.GRACE_SECONDS = 300
try:
    model.generate_until(requests_for(model, [QUESTION]))
except (ModelError, MemoryError) as error:
    print(model.rank, type(error).__name__, error)
try:
    with together("load", everyone=True):
        if model.rank == 0:
            raise ModelError("no weights")
except ModelError as error:
    print(model.rank, error)
# Rank 0 may hold the store that the others still ask.
model.accelerator.wait_for_everyone()
"""


def test_two_ranks_answer_as_one() -> None:
    model = Chance()
    whole = model.generate_until(requests_for(model, [QUESTION] * 10))
    tests = os.path.dirname(__file__)  # noqa: PTH120
    for rank, done in enumerate(run_ranks(SHARED_SCRIPT.format(tests=tests))):
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout.splitlines()[-1]) == [rank, 2, whole[rank::2]]


def test_failure_of_one_rank_is_raised_on_both() -> None:
    first, second = run_ranks(FAILING_SCRIPT.format(tests=os.path.dirname(__file__)))  # noqa: PTH120
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert first.stdout.splitlines() == ["0 ModelError rank 1 failed: MemoryError: no room", "0 no weights"]
    assert second.stdout.splitlines() == ["1 MemoryError no room", "1 rank 0 failed: ModelError: no weights"]
