"""A loaded audio language model: conversations in, answers out, in left-padded batches."""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.conversations import Message, chat_template, messages, open_image
from lmms_audio_tasks.models.generation import Generation
from lmms_audio_tasks.models.loading import Loaded
from lmms_audio_tasks.models.messages import Part, Prompt, Turn
from lmms_audio_tasks.models.windows import Samples, rate_of

logger = logging.getLogger(__name__)
_TOLERANCE = {"float32": 1e-3}
_HALF_TOLERANCE = 0.03
"""How much the scores of a prompt may change, relatively, beside another one: rounding, where nothing leaks. The leaks
seen were of 0.07 and more."""


class ChatModel:
    """The model with its processor. `prepare` and `generate` may run in two threads, one each."""

    def __init__(self, loaded: Loaded) -> None:
        """Take over what was loaded."""
        self.family = loaded.family
        self.rate = rate_of(loaded.processor)
        self.takes_images = getattr(loaded.processor, "image_processor", None) is not None
        self.dtype = str(loaded.model.dtype).removeprefix("torch.")
        self.encode_at = self.rate if loaded.family.encoded else None
        self._model = loaded.model
        self._processor = loaded.processor
        self._template = None if loaded.family.encoded else chat_template(loaded.processor)
        # A fast tokenizer must not be used by two threads while one sets its padding.
        self._tokenizer = copy.deepcopy(loaded.processor.tokenizer)
        ends = loaded.model.generation_config.eos_token_id
        self._ends = frozenset([] if ends is None else [ends] if isinstance(ends, int) else ends)
        text = loaded.model.config.get_text_config()
        self._room = getattr(text, "max_position_embeddings", None)

    def check_system(self, system_prompt: str) -> None:
        """Raise `ModelError` where the chat template has no place for a system turn: some leave it out silently."""
        if self.encode_at is not None:  # no template of ours; what writes the prompt refuses what it cannot take
            return
        turns = messages(
            Prompt((Turn("user", (Part("text", "probe"),)),)), lambda clip: [clip], open_image, None, system_prompt
        )
        try:
            text = self._processor.apply_chat_template(
                turns, chat_template=self._template, tokenize=False, add_generation_prompt=True
            )
        except Exception as error:
            raise ModelError(f"system_prompt=: the model's chat template refuses it: {error}") from error
        if system_prompt.strip() not in text:
            raise ModelError("system_prompt=: the model's chat template leaves it out, so the model would not read it")

    def prepare(self, conversations: Sequence[list[Message]]) -> Any:
        """The model's inputs, on the CPU, for conversations that all have recordings, and images, or have none."""
        return self._processor.apply_chat_template(
            list(conversations),
            chat_template=self._template,
            tokenize=True,
            add_generation_prompt=True,
            return_dict=True,
            # Not at the top level, where it would also change how audio is padded.
            processor_kwargs={"return_tensors": "pt", "text_kwargs": {"padding": True, "padding_side": "left"}},
        )

    def generate(self, inputs: Any, how: Generation) -> list[str]:
        """The answer to each conversation, cut and stripped as `how` says.

        Raises:
            ModelError: a prompt leaves too little room for the answer.
        """
        keywords = how.keywords
        self._check_room(inputs, keywords["max_new_tokens"])
        tokens = self._run(inputs, pad_token_id=self._tokenizer.pad_token_id, **keywords)
        asked = inputs["input_ids"]
        # Some models hand back the prompt too.
        if tokens.shape[1] >= asked.shape[1] and (tokens[:, : asked.shape[1]].cpu() == asked.cpu()).all():
            tokens = tokens[:, asked.shape[1] :]
        rows = [self._until_end(row) for row in tokens.tolist()]
        return [how.cut(self._tokenizer.decode(row, skip_special_tokens=True)) for row in rows]

    def leaks(self) -> bool:
        """Whether a conversation with a short recording is answered otherwise beside a long one; tries it."""
        generator = np.random.default_rng(0)
        short, long = (
            self._trial(0.1 * generator.standard_normal(round(seconds * self.rate), dtype=np.float32))
            for seconds in (1.0, 2.7)
        )
        try:
            alone, beside = self._scores([short]), self._scores([short, long])
        except Exception as error:
            logger.warning("recordings of unequal length cannot be batched: %s", error)
            return True
        difference = float((alone - beside).norm() / alone.norm())
        logger.info("beside a longer recording a prompt's scores differ by %.2g, relatively", difference)
        # A comparison with NaN is false.
        return not difference <= _TOLERANCE.get(self.dtype, _HALF_TOLERANCE)

    def _trial(self, samples: Samples) -> list[Message]:
        prompt = Prompt((Turn("user", (Part("audio", samples), Part("text", "What do you hear?"))),))
        return messages(prompt, lambda clip: [clip], open_image, self.encode_at, None)

    def _scores(self, conversations: Sequence[list[Message]]) -> Any:
        """The scores of the first new token of the first conversation, float32 on the CPU."""
        found = self._run(
            self.prepare(conversations),
            max_new_tokens=1,
            do_sample=False,
            output_logits=True,
            return_dict_in_generate=True,
            pad_token_id=self._tokenizer.pad_token_id,
        )
        return found.logits[0][0].float().cpu()

    def _run(self, inputs: Any, **keywords: Any) -> Any:
        import torch

        with torch.inference_mode():
            # Features in float32 would be refused by models in half precision; whole numbers stay as they are.
            return self._model.generate(**inputs.to(self._model.device, self._model.dtype), **keywords)

    def _until_end(self, row: list[int]) -> list[int]:
        """The tokens before the first that ends an answer: what follows is padding."""
        return row[: next((place for place, token in enumerate(row) if token in self._ends), len(row))]

    def _check_room(self, inputs: Any, new: int) -> None:
        longest = int(inputs["attention_mask"].sum(-1).max())
        if self._room and longest + new > self._room:
            raise ModelError(f"a prompt of {longest} tokens and up to {new} new ones exceed the model's {self._room}")
