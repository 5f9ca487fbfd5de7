"""`audio_lm` against the host's own `qwen2_audio` loader: items a second on the same random weights and recordings.

    python benchmarks/models.py                  # a tiny Qwen2-Audio on the CPU
    python benchmarks/models.py --device cuda    # the full-size configuration in bfloat16, made on the spot (17 GB)

Both sides get the same requests in the same order: clips of 1 to 20 s in WAV files at 44.1 kHz, a question each, greedy
answers of `--new-tokens` tokens. Both decode with `audio.load` (the host is handed arrays, as this package's tasks hand
them to it). The sides take turns, and the best of `--rounds` counts; processor time is that of all threads, which other
work on the machine disturbs least. How many answers are those of the same side at
batch size 1 is printed, too; in bfloat16 some need not be.

The host's code is not patched. Its loader asks for CUDA; on the CPU it is made with `device_map=auto,device=cpu`, and
then told `device_map = "cpu"`, as it would still move its inputs to "cuda".
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

RATE = 44_100
SECONDS = (1.0, 20.0)
QUESTIONS = (
    "Which animal is it? (a) a dog (b) a cat (c) a frog (d) a cow",
    "What does the animal that you hear like to eat most of all? (a) meat (b) fish (c) insects (d) grass",
    "Is the speaker a man or a woman?",
)
SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "cpu": {
        "audio": {"d_model": 64, "encoder_layers": 2, "encoder_attention_heads": 2, "encoder_ffn_dim": 128},
        "text": {
            "hidden_size": 128,
            "intermediate_size": 256,
            "num_hidden_layers": 4,
            "num_attention_heads": 4,
            "num_key_value_heads": 4,
            # Large, so that answers depend on what is heard.
            "initializer_range": 0.1,
        },
    },
    # The published model's: encoder as the config's defaults have it, Qwen-7B as text model.
    "cuda": {
        "audio": {},
        "text": {
            "hidden_size": 4096,
            "intermediate_size": 11008,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 32,
            "vocab_size": 156_032,
        },
    },
}


def make_model(folder: Path, kind: str, device: str) -> Path:
    """A Qwen2-Audio with random weights, and a processor whose tokenizer knows single characters."""
    import torch
    import transformers as hf
    from tokenizers import Tokenizer, decoders, models

    specials = ["<|pad|>", "<|im_start|>", "<|im_end|>", "<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"]
    vocabulary = {token: number for number, token in enumerate([*map(chr, range(32, 127)), "\n", *specials])}
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="~"))
    core.decoder = decoders.Fuse()
    tokenizer = hf.PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<|im_end|>",
        pad_token="<|pad|>",
        additional_special_tokens=[token for token in specials if token not in ("<|im_end|>", "<|pad|>")],
    )
    size = SIZES[kind]
    ids = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id, "bos_token_id": None}
    text = {"vocab_size": len(vocabulary), "max_position_embeddings": 8192, **ids}
    config = hf.Qwen2AudioConfig(
        audio_config=size["audio"],
        text_config={**text, **size["text"], "model_type": "qwen2"},
        audio_token_index=vocabulary["<|AUDIO|>"],
    )
    torch.manual_seed(0)
    dtype = torch.bfloat16 if kind == "cuda" else torch.float32
    torch.set_default_dtype(dtype)
    with torch.device(device):
        model = hf.Qwen2AudioForConditionalGeneration(config)
    torch.set_default_dtype(torch.float32)
    # Tokens that the tokenizer does not know never win.
    model.get_output_embeddings().weight.data[len(vocabulary) :] = 0
    # Never an end, a blank or nothing to see: every answer has all its tokens, and an empty one is a failure.
    model.generation_config.suppress_tokens = [vocabulary[token] for token in (" ", "\n", *specials)]
    model.save_pretrained(folder)
    hf.Qwen2AudioProcessor(hf.WhisperFeatureExtractor(feature_size=128), tokenizer).save_pretrained(folder)
    return folder


def make_clips(folder: Path, count: int) -> list[Path]:
    generator = np.random.default_rng(0)
    paths = [folder / f"{number}.wav" for number in range(count)]
    for path in paths:
        samples = generator.standard_normal(round(generator.uniform(*SECONDS) * RATE))
        soundfile.write(path, 0.1 * np.convolve(samples, generator.standard_normal(16), mode="same"), RATE)
    return paths


def requests(model: Any, clips: Sequence[Path], new_tokens: int) -> list[Any]:
    """As the host makes them: a function to messages for chat models, to arrays for simple ones."""
    from lmms_eval.api.instance import Instance

    from lmms_audio_tasks import audio

    docs = [{"clip": str(clip), "text": QUESTIONS[n % len(QUESTIONS)]} for n, clip in enumerate(clips)]
    model.task_dict["clips"] = {"test": docs}

    def messages(doc: dict[str, str]) -> list[dict[str, Any]]:
        content = [{"type": "audio", "url": doc["clip"]}, {"type": "text", "text": doc["text"]}]
        return [{"role": "user", "content": content}]

    def arrays(doc: dict[str, str]) -> list[dict[str, Any]]:
        samples, rate = audio.load(doc["clip"], 16_000)
        return [{"array": samples, "sampling_rate": rate}]

    generation = {"max_new_tokens": new_tokens, "do_sample": False, "temperature": 0, "until": []}

    def request(number: int, doc: dict[str, str]) -> Any:
        # Each with generation arguments of its own: the host's model takes entries out of them.
        own = dict(generation)
        hooks = (doc["text"], own, arrays) if model.is_simple else ("", messages, own)
        metadata = {"task": "clips", "doc_id": number, "repeats": 1}
        return Instance("generate_until", (*hooks, number, "clips", "test"), 0, metadata)

    return [request(number, doc) for number, doc in enumerate(docs)]


def make_host(folder: Path, device: str, batch_size: int) -> Any:
    from lmms_eval.models.simple.qwen2_audio import Qwen2_Audio

    if device == "cuda":
        return Qwen2_Audio(pretrained=str(folder), batch_size=batch_size)
    host = Qwen2_Audio(pretrained=str(folder), batch_size=batch_size, device="cpu", device_map="auto")
    host.device_map = "cpu"
    return host


def make_ours(folder: Path, device: str, batch_size: int) -> Any:
    from lmms_audio_tasks.models.audio_lm import AudioLM

    return AudioLM(pretrained=str(folder), batch_size=batch_size, device=device, resume=False)


def run(make: Callable[[], Any], clips: Sequence[Path], new_tokens: int) -> tuple[float, float, list[str]]:
    """Seconds and processor seconds that the answers took, without loading, and the answers."""
    model = make()
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):  # noqa: PTH123
        model.generate_until(requests(model, clips[:2], 4))
        start, processor = time.perf_counter(), time.process_time()
        answers = model.generate_until(requests(model, clips, new_tokens))
        seconds, processor = time.perf_counter() - start, time.process_time() - processor
    empty = sum(not answer for answer in answers)
    if empty:
        sys.exit(f"{empty} of {len(answers)} answers are empty: a failure, as the host does not tell them apart")
    return seconds, processor, answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=list(SIZES), default="cpu")
    parser.add_argument("--clips", type=int, help="500 on a GPU, 64 on the CPU")
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, help="of torch, on both sides; its own default is one a core")
    options = parser.parse_args()
    if options.threads:
        import torch

        torch.set_num_threads(options.threads)
    count = options.clips or (500 if options.device == "cuda" else 64)
    sides = {"host's `qwen2_audio`": make_host, "`audio_lm`": make_ours}
    speeds: dict[tuple[str, int], float] = {}
    alone: dict[str, list[str]] = {}
    print("| loader | batch size | items/s | processor s an item | answers as at batch size 1 |")
    print("| --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        model = make_model(Path(folder) / "model", options.device, options.device)
        (Path(folder) / "clips").mkdir()
        clips = make_clips(Path(folder) / "clips", count)
        for batch_size in options.batches:
            best = dict.fromkeys(sides, float("inf"))
            least = dict(best)
            answers: dict[str, list[str]] = {}
            for _ in range(options.rounds):
                for side, make in sides.items():
                    build = lambda make=make: make(model, options.device, batch_size)  # noqa: B023, E731
                    seconds, processor, answers[side] = run(build, clips, options.new_tokens)
                    best[side], least[side] = min(best[side], seconds), min(least[side], processor)
            for side in sides:
                speeds[side, batch_size] = count / best[side]
                same = sum(map(str.__eq__, answers[side], alone.setdefault(side, answers[side])))
                figures = f"{count / best[side]:.2f} | {least[side] / count:.3f} | {same} of {count}"
                print(f"| {side} | {batch_size} | {figures} |", flush=True)
    host, ours = (max(speed for (side, _), speed in speeds.items() if side == name) for name in sides)
    agree = sum(map(str.__eq__, *alone.values()))
    print(f"\nbest against best: {ours / host:.2f} times; both sides' first answers agree in {agree} of {count}")


if __name__ == "__main__":
    main()
