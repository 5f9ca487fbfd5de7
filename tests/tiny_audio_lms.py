"""Random audio language models of a few thousand weights, one a family of transformers, made on the spot.

Each folder loads as a checkpoint from a hub would: config, weights, processor with tokenizer and chat template.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

FRAMES = 3000
"""Frames of a Whisper-like window of 30 s, which no config can make shorter."""
TEMPLATE = (
    "{% for turn in messages %}<turn>{{ turn.role }} "
    "{% if turn.content is string %}{{ turn.content }}{% else %}{% for part in turn.content %}"
    "{% if part.type == 'text' %}{{ part.text }}{% elif part.type == 'audio' %}AUDIO{% else %}IMAGE{% endif %}"
    "{% endfor %}{% endif %}<end>{% endfor %}{% if add_generation_prompt %}<turn>assistant {% endif %}"
)
PLAIN_TEMPLATE = "{% for turn in messages %}<turn>{{ turn.role }} {{ turn.content }}<end>{% endfor %}<turn>assistant "
"""One of those that know no parts, only text."""
TEXT: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 8192,
    "initializer_range": 0.3,
    "tie_word_embeddings": False,
}
ENCODER: dict[str, Any] = {
    "num_mel_bins": 128,
    "d_model": 16,
    "encoder_layers": 1,
    "encoder_attention_heads": 2,
    "encoder_ffn_dim": 32,
    "initializer_range": 0.3,
}
LAYERS: dict[str, Any] = {
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "hidden_size": 16,
    "initializer_range": 0.3,
}
"""An encoder in the names that newer families use."""


def _tokenizer(template: str = TEMPLATE, **tokens: str) -> Any:
    """Printable ASCII, a character a token, and `tokens` by the name of the attribute that holds each."""
    from tokenizers import Tokenizer, decoders, models
    from transformers import PreTrainedTokenizerFast

    plain = [chr(code) for code in range(32, 127)] + ["\n", "<pad>", "<end>", "<turn>"]
    vocabulary = {token: number for number, token in enumerate([*plain, *tokens.values()])}
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="~"))
    core.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<end>",
        pad_token="<pad>",
        additional_special_tokens=["<turn>"],
        extra_special_tokens=tokens,
        chat_template=template.replace("AUDIO", tokens["audio_token"]).replace("IMAGE", tokens.get("image_token", "")),
    )


def _text(tokenizer: Any, **more: Any) -> dict[str, Any]:
    ids = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id, "bos_token_id": None}
    return {**TEXT, **ids, "vocab_size": len(tokenizer), **more}


def _save(folder: Path, model_class: Any, config: Any, processor: Any) -> Path:
    import torch

    torch.manual_seed(0)
    model = model_class(config)
    # Some families start their norms, biases or positions at 0 or 1, and would hear nothing through them.
    generator = torch.Generator().manual_seed(0)
    for weight in model.parameters():
        if weight.dim() == 1:
            weight.data += 0.1 * torch.randn(weight.shape, generator=generator)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def make_qwen2_audio(folder: Path) -> Path:
    import transformers as hf

    tokenizer = _tokenizer(audio_token="<|AUDIO|>", audio_bos_token="<|audio_bos|>", audio_eos_token="<|audio_eos|>")
    config = hf.Qwen2AudioConfig(
        audio_config={**ENCODER, "max_source_positions": FRAMES // 2},
        text_config={**_text(tokenizer), "model_type": "qwen2"},
        audio_token_index=tokenizer.convert_tokens_to_ids("<|AUDIO|>"),
    )
    extractor = hf.WhisperFeatureExtractor(feature_size=128)
    # No template of ours: the processor's own.
    processor = hf.Qwen2AudioProcessor(extractor, tokenizer)
    return _save(folder, hf.Qwen2AudioForConditionalGeneration, config, processor)


def make_audio_flamingo(folder: Path) -> Path:
    import transformers as hf

    tokenizer = _tokenizer(audio_token="<sound>")
    config = hf.AudioFlamingo3Config(
        audio_config={**LAYERS},
        text_config={**_text(tokenizer), "model_type": "qwen2"},
        audio_token_id=tokenizer.convert_tokens_to_ids("<sound>"),
    )
    processor = hf.AudioFlamingo3Processor(
        hf.WhisperFeatureExtractor(feature_size=128), tokenizer, chat_template=tokenizer.chat_template
    )
    return _save(folder, hf.AudioFlamingo3ForConditionalGeneration, config, processor)


def make_glm_asr(folder: Path) -> Path:
    import transformers as hf

    tokenizer = _tokenizer(audio_token="<|pad|>")
    config = hf.GlmAsrConfig(
        audio_config={**LAYERS, "intermediate_size": 64},
        text_config={**_text(tokenizer), "model_type": "llama"},
        audio_token_id=tokenizer.convert_tokens_to_ids("<|pad|>"),
    )
    processor = hf.GlmAsrProcessor(
        hf.WhisperFeatureExtractor(feature_size=128),
        tokenizer,
        chat_template=tokenizer.chat_template,
        audio_token="<|pad|>",
    )
    return _save(folder, hf.GlmAsrForConditionalGeneration, config, processor)


def make_qwen_omni(folder: Path) -> Path:
    """As the hub's: the config of the whole, thinker and talker; the weights are the thinker's."""
    import torch
    import transformers as hf

    tokens = {
        "audio_token": "<|AUDIO|>",
        "image_token": "<|IMAGE|>",
        "video_token": "<|VIDEO|>",
        "audio_bos_token": "<|audio_bos|>",
        "audio_eos_token": "<|audio_eos|>",
        "vision_bos_token": "<|vision_bos|>",
        "vision_eos_token": "<|vision_eos|>",
    }
    template = TEMPLATE.replace("AUDIO", "<|audio_bos|>AUDIO<|audio_eos|>").replace(
        "IMAGE", "<|vision_bos|>IMAGE<|vision_eos|>"
    )
    tokenizer = _tokenizer(template, **tokens)
    ids = {name: tokenizer.convert_tokens_to_ids(token) for name, token in tokens.items()}
    rope = {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [2, 1, 1]}
    thinker = {
        "audio_config": {**ENCODER, "output_dim": 32, "n_window": 100},
        "vision_config": {
            "depth": 1,
            "hidden_size": 16,
            "intermediate_size": 32,
            "num_heads": 2,
            "out_hidden_size": 32,
            "fullatt_block_indexes": [0],
            "initializer_range": 0.3,
        },
        "text_config": {**_text(tokenizer), "rope_parameters": rope},
        "audio_token_index": ids["audio_token"],
        "image_token_index": ids["image_token"],
        "video_token_index": ids["video_token"],
        "audio_start_token_id": ids["audio_bos_token"],
        "audio_end_token_id": ids["audio_eos_token"],
        "vision_start_token_id": ids["vision_bos_token"],
        "vision_end_token_id": ids["vision_eos_token"],
    }
    processor = hf.Qwen2_5OmniProcessor(
        hf.Qwen2VLImageProcessor(min_pixels=56 * 56, max_pixels=56 * 56),
        hf.Qwen2VLVideoProcessor(),
        hf.WhisperFeatureExtractor(feature_size=128),
        tokenizer,
        chat_template=tokenizer.chat_template,
    )
    whole = hf.Qwen2_5OmniConfig(thinker_config=thinker)
    processor.save_pretrained(folder)
    torch.manual_seed(0)
    model = hf.Qwen2_5OmniThinkerForConditionalGeneration(whole.thinker_config)
    state = {f"thinker.{name}": weight for name, weight in model.state_dict().items()}
    from safetensors.torch import save_file

    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    whole.save_pretrained(folder)
    return folder


def make_granite_speech(folder: Path) -> Path:
    import transformers as hf

    tokenizer = _tokenizer(PLAIN_TEMPLATE, audio_token="<|audio|>")
    config = hf.GraniteSpeechConfig(
        text_config={**_text(tokenizer), "model_type": "granite"},
        encoder_config={"num_layers": 1, "hidden_dim": 16, "num_heads": 2, "context_size": 50, "output_dim": 8},
        projector_config={
            "model_type": "blip_2_qformer",
            "hidden_size": 16,
            "encoder_hidden_size": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 32,
            "initializer_range": 0.3,
        },
        audio_token_index=tokenizer.convert_tokens_to_ids("<|audio|>"),
        has_lora_adapter=False,
        tie_word_embeddings=False,
        initializer_range=0.3,
    )
    processor = hf.GraniteSpeechProcessor(
        hf.GraniteSpeechFeatureExtractor(), tokenizer, chat_template=tokenizer.chat_template
    )
    return _save(folder, hf.GraniteSpeechForConditionalGeneration, config, processor)


def make_phi4(folder: Path) -> Path:
    import transformers as hf

    tokenizer = _tokenizer(PLAIN_TEMPLATE, audio_token="<|audio|>", image_token="<|image|>")
    config = hf.Phi4MultimodalConfig(
        **_text(tokenizer, original_max_position_embeddings=8192),
        audio_config={
            "hidden_size": 16,
            "intermediate_size": 32,
            "num_blocks": 2,
            "num_attention_heads": 2,
            "ext_pw_out_channel": 16,
            "depthwise_separable_out_channel": 16,
            "nemo_conv_channels": 16,
            "initializer_range": 0.3,
            "audio_token_id": tokenizer.audio_token_id,
        },
        vision_config={
            "hidden_size": 16,
            "intermediate_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_token_id": tokenizer.image_token_id,
        },
    )
    processor = hf.Phi4MultimodalProcessor(
        hf.Phi4MultimodalImageProcessor(), hf.Phi4MultimodalFeatureExtractor(), tokenizer
    )
    return _save(folder, hf.Phi4MultimodalForCausalLM, config, processor)


def make_voxtral(folder: Path) -> Path:
    """Its tokenizer, which only mistral-common reads, has a token a byte."""
    import base64

    import transformers as hf
    from mistral_common.tokens.tokenizers.base import SpecialTokens
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    # `.value`: what `str` makes of these differs between versions.
    specials = [SpecialTokens(token["token_str"]).value for token in Tekkenizer.DEPRECATED_SPECIAL_TOKENS]
    specials += [f"<SPECIAL_{number}>" for number in range(len(specials), 24)]
    # Where transformers' processor counts on them.
    specials += [token.value for token in (SpecialTokens.audio, SpecialTokens.begin_audio, SpecialTokens.transcribe)]
    size = len(specials) + 256
    bytes_alone = [bytes([number]) for number in range(256)]
    tekken = {
        "config": {
            "pattern": ".|\\n",
            "num_vocab_tokens": 256,
            "default_vocab_size": size,
            "default_num_special_tokens": len(specials),
            "version": "v7",
        },
        "vocab": [
            {"rank": rank, "token_bytes": base64.b64encode(byte).decode(), "token_str": None}
            for rank, byte in enumerate(bytes_alone)
        ],
        "special_tokens": [
            {"rank": rank, "token_str": token, "is_control": True} for rank, token in enumerate(specials)
        ],
        "audio": {
            "sampling_rate": 16_000,
            "frame_rate": 12.5,
            "audio_encoding_config": {"num_mel_bins": 128, "hop_length": 160, "window_size": 400},
            "chunk_length_s": 30,
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tekken.json").write_text(json.dumps(tekken))
    tokenizer = hf.MistralCommonBackend.from_pretrained(folder)
    text = {"vocab_size": size, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 11}
    config = _voxtral_config(text, specials.index(SpecialTokens.audio.value))
    processor = hf.VoxtralProcessor(hf.WhisperFeatureExtractor(feature_size=128), tokenizer)
    return _save(folder, hf.VoxtralForConditionalGeneration, config, processor)


def _voxtral_config(text: dict[str, Any], audio_token: int) -> Any:
    import transformers as hf

    return hf.VoxtralConfig(
        # The frames of a token, four in one, lie side by side.
        audio_config={**LAYERS, "intermediate_size": 64},
        text_config={**TEXT, **text, "model_type": "llama"},
        audio_token_id=audio_token,
    )


class VoxtralProcessorByHand:
    """Takes what Voxtral's processor takes, without mistral-common: recordings as base64 files, and nothing else."""

    def __init__(self) -> None:
        import transformers as hf

        self.tokenizer = _tokenizer(audio_token="[AUDIO]")
        self.feature_extractor = hf.WhisperFeatureExtractor(feature_size=128)
        self.heard: list[Any] = []

    def apply_chat_template(
        self, conversations: list[list[dict[str, Any]]], processor_kwargs: dict[str, Any], **_: Any
    ) -> Any:
        import transformers as hf

        features: list[Any] = []
        texts = [self._text(conversation, features) for conversation in conversations]
        padding = processor_kwargs["text_kwargs"]
        data = dict(self.tokenizer(texts, return_tensors="pt", return_token_type_ids=False, **padding))
        if features:
            import torch

            data["input_features"] = torch.cat(features)
        return hf.BatchFeature(data)

    def _text(self, conversation: list[dict[str, Any]], features: list[Any]) -> str:
        import base64
        import io

        import soundfile

        text = ""
        for turn in conversation:
            content = turn["content"]
            for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                if part["type"] == "text":
                    text += part["text"]
                    continue
                samples, rate = soundfile.read(io.BytesIO(base64.b64decode(part["base64"])), dtype="float32")
                self.heard.append(samples)
                windows = [samples[start : start + 30 * rate] for start in range(0, len(samples), 30 * rate)]
                features.append(self.feature_extractor(windows, sampling_rate=rate, return_tensors="pt").input_features)
                text += "[AUDIO]" * 375 * len(windows)
            text += "<end>"
        return text


def make_voxtral_by_hand() -> tuple[Any, VoxtralProcessorByHand]:
    """A model and a processor, for where mistral-common is not installed."""
    import torch
    import transformers as hf

    processor = VoxtralProcessorByHand()
    torch.manual_seed(0)
    config = _voxtral_config(_text(processor.tokenizer), processor.tokenizer.convert_tokens_to_ids("[AUDIO]"))
    return hf.VoxtralForConditionalGeneration(config).eval(), processor


GEMMA_TOKENS = {
    "audio_token": "<audio_soft_token>",
    "image_token": "<image_soft_token>",
    "boa_token": "<start_of_audio>",
    "eoa_token": "<end_of_audio>",
    "boi_token": "<start_of_image>",
    "eoi_token": "<end_of_image>",
}


def make_gemma3n(folder: Path) -> Path:
    import transformers as hf

    tokenizer = _tokenizer(**GEMMA_TOKENS)
    size = len(tokenizer)
    ids = {name: tokenizer.convert_tokens_to_ids(token) for name, token in GEMMA_TOKENS.items()}
    text = _text(tokenizer, head_dim=8, num_hidden_layers=4, vocab_size=size + 256, initializer_range=0.1)
    config = hf.Gemma3nConfig(
        text_config={
            **text,
            "vocab_size_per_layer_input": size,
            "hidden_size_per_layer_input": 8,
            "altup_num_inputs": 2,
            "num_kv_shared_layers": 0,
            "laurel_rank": 4,
            "layer_types": ["sliding_attention", "full_attention"] * 2,
            "activation_sparsity_pattern": [0.0] * 4,
        },
        audio_config={
            "vocab_offset": size + 128,
            "hidden_size": 16,
            "conf_num_attention_heads": 2,
            "conf_num_hidden_layers": 1,
            "sscp_conv_channel_size": (8, 4),
        },
        vision_config={"architecture": "test_efficientnet", "hidden_size": 16, "vocab_offset": size},
        **{f"{name}_id": number for name, number in ids.items()},
        tie_word_embeddings=False,
    )
    processor = hf.Gemma3nProcessor(
        hf.Gemma3nAudioFeatureExtractor(), hf.SiglipImageProcessor(), tokenizer, chat_template=tokenizer.chat_template
    )
    return _save(folder, hf.Gemma3nForConditionalGeneration, config, processor)


def make_gemma4(folder: Path) -> Path:
    import transformers as hf

    tokenizer = _tokenizer(**GEMMA_TOKENS)
    ids = {name: tokenizer.convert_tokens_to_ids(token) for name, token in GEMMA_TOKENS.items()}
    config = hf.Gemma4Config(
        text_config={
            **_text(tokenizer, head_dim=8, vocab_size=len(tokenizer) + 1),
            "vocab_size_per_layer_input": len(tokenizer) + 1,
            "hidden_size_per_layer_input": 8,
            "layer_types": ["sliding_attention", "full_attention"],
        },
        audio_config={
            "hidden_size": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            # The first is the number of mel bins; the next layer counts on it.
            "subsampling_conv_channels": (128, 4),
            "output_proj_dims": 16,
            "initializer_range": 0.3,
        },
        vision_config={
            "hidden_size": 16,
            "intermediate_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "head_dim": 8,
        },
        **{f"{name}_id": number for name, number in ids.items() if name != "eoa_token"},
        eoa_token_index=ids["eoa_token"],
        video_token_id=len(tokenizer),
        tie_word_embeddings=False,
    )
    processor = hf.Gemma4Processor(
        hf.Gemma4AudioFeatureExtractor(),
        hf.Gemma4ImageProcessor(),
        tokenizer,
        hf.Gemma4VideoProcessor(),
        chat_template=tokenizer.chat_template,
    )
    return _save(folder, hf.Gemma4ForConditionalGeneration, config, processor)


FAMILIES: dict[str, Callable[[Path], Path]] = {
    "qwen2_audio": make_qwen2_audio,
    "audioflamingo3": make_audio_flamingo,
    "glmasr": make_glm_asr,
    "qwen2_5_omni": make_qwen_omni,
    "granite_speech": make_granite_speech,
    "phi4_multimodal": make_phi4,
    "gemma3n": make_gemma3n,
    "gemma4": make_gemma4,
    "voxtral": make_voxtral,
}
