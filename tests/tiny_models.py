"""Random models of a few thousand weights with real tokenizers and processors, made on the spot."""

from __future__ import annotations

import json
import string
from pathlib import Path

WINDOW_SECONDS = 2


def make_whisper(folder: Path, seed: int = 0) -> Path:
    """A Whisper of transformers that hears windows of 2 s and writes letters."""
    import torch
    from transformers import (
        WhisperConfig,
        WhisperFeatureExtractor,
        WhisperForConditionalGeneration,
        WhisperProcessor,
        WhisperTokenizer,
    )

    letters = string.ascii_letters + string.digits
    specials = ("<|endoftext|>", "<|startoftranscript|>", "<|notimestamps|>")
    stamps = [f"<|{step * 0.02:.2f}|>" for step in range(WINDOW_SECONDS * 50 + 1)]
    vocabulary = {token: number for number, token in enumerate([*letters, *specials, *stamps])}
    end, start, no_stamps = (vocabulary[token] for token in specials)
    torch.manual_seed(seed)
    config = WhisperConfig(
        vocab_size=len(vocabulary),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_source_positions=WINDOW_SECONDS * 50,
        max_target_positions=32,
        # Large, so that what it writes depends on what it hears.
        init_std=1.0,
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
        decoder_start_token_id=start,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    WhisperForConditionalGeneration(config).save_pretrained(folder)
    extractor = WhisperFeatureExtractor(chunk_length=WINDOW_SECONDS)
    WhisperProcessor(extractor, WhisperTokenizer(vocab=vocabulary, merges=[])).save_pretrained(folder)
    generation = {
        "bos_token_id": end,
        "eos_token_id": end,
        "pad_token_id": end,
        "decoder_start_token_id": start,
        "no_timestamps_token_id": no_stamps,
        "is_multilingual": False,
        "return_timestamps": False,
        "max_length": 20,
        "max_initial_timestamp_index": 50,
    }
    (folder / "generation_config.json").write_text(json.dumps(generation))
    return folder


def make_llm(folder: Path, template: bool = True, positions: int = 1024, padding: bool = True) -> Path:
    """A Llama that reads and writes printable ASCII, a character a token; template and padding token if wanted."""
    import torch
    from tokenizers import Tokenizer, decoders, models
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    characters = [chr(code) for code in range(32, 127)] + ["\n", "<pad>", "<end>", "<user>", "<answer>"]
    vocabulary = {token: number for number, token in enumerate(characters)}
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="~"))
    core.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<end>",
        pad_token="<pad>" if padding else None,
        additional_special_tokens=["<user>", "<answer>"],
    )
    if template:
        tokenizer.chat_template = "{% for m in messages %}<user>{{ m.content }}<end>{% endfor %}<answer>"
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=positions,
        initializer_range=0.5,
        bos_token_id=None,
        eos_token_id=vocabulary["<end>"],
        pad_token_id=vocabulary["<pad>"] if padding else None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder
