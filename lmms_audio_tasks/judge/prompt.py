"""The judge's prompts: a template file for each kind of question, and one request put into it so that the response
stays recognisable as such."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from lmms_audio_tasks.errors import DataError

Kind = Literal["multiple_choice", "open_ended", "criterion"]
"""What is judged. `multiple_choice`: which listed option the response commits to. `open_ended`: whether it says what
the reference says. `criterion`: whether it meets a success criterion, in words."""
KINDS: tuple[Kind, ...] = get_args(Kind)
MULTIPLE_CHOICE: Kind = "multiple_choice"
PROMPTS = Path(__file__).parent / "prompts"
SHIPPED = PROMPTS / "multiple_choice.txt"
SYSTEM_END = "### user"
"""A line of a template that reads so ends the system prompt above it; without one, all is the user's turn."""

# The second spelling of each is the one in SAKURA's own evaluation script, whose prompt can so be used as it is.
_SPELLINGS = {
    "{instruction}": "instruction",
    "[QUESTION]": "instruction",
    "{golden}": "golden",
    "[GROUND_TRUTH_ANSWER]": "golden",
    "{response}": "response",
    "[MODEL_GENERATED_RESPONSE]": "response",
    "{fence}": "fence",
}
_NEEDED = ("instruction", "golden", "response")
_SLOT = re.compile("|".join(map(re.escape, _SPELLINGS)))

_REMINDER = """\

Your last reply held no judgement that could be read. Explain in one short sentence, quote nothing, and end with one \
line of its own, which reads either
Judgement {code}: correct
or
Judgement {code}: incorrect"""


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One response to be judged.

    Attributes:
        instruction: the question as the model was given it, with its options; for a criterion, in words what the model
            saw and heard and what it was asked.
        golden: the right answer, e.g. `(c) Claws`; the reference answer; the criterion.
        response: what the model answered.
    """

    instruction: str
    golden: str
    response: str
    kind: Kind = MULTIPLE_CHOICE


@dataclass(frozen=True, slots=True)
class Prompt:
    """A checked template."""

    template: str

    @property
    def version(self) -> str:
        """SHA-256 of the template: with another one, everything is asked anew."""
        return hashlib.sha256(encode(self.template)).hexdigest()

    @property
    def delimits(self) -> bool:
        """Whether the template says where the response begins and ends."""
        return "{fence}" in self.template

    def messages(self, request: JudgeRequest, remind: bool = False) -> list[dict[str, str]]:
        """The conversation that asks for one verdict.

        Args:
            remind: whether to add what is said after a reply without a readable verdict.
        """
        code = verdict_code(request.response)
        values = {
            "instruction": request.instruction,
            "golden": request.golden,
            "response": request.response,
            "fence": f"=====[ {code} ]=====",
        }
        system, user = split_template(self.template)
        # One pass: a response that holds `{golden}` must not have it filled in.
        turns = [("system", system), ("user", user)] if system else [("user", user)]
        messages = [
            {"role": role, "content": clean(_SLOT.sub(lambda slot: values[_SPELLINGS[slot[0]]], text))}
            for role, text in turns
        ]
        if remind:
            messages[-1]["content"] += "\n" + _REMINDER.format(code=code)
        return messages


def split_template(template: str) -> tuple[str, str]:
    """The system prompt ("" where there is none) and the user's turn."""
    lines = template.splitlines()
    if SYSTEM_END not in lines:
        return "", template.strip()
    end = lines.index(SYSTEM_END)
    return "\n".join(lines[:end]).strip(), "\n".join(lines[end + 1 :]).strip()


def load_prompts(path: Path | None, kinds: Iterable[Kind]) -> dict[Kind, Prompt]:
    """The templates of `kinds`; the shipped one for each that `path` does not have.

    Args:
        path: a folder with `<kind>.txt` files, or one file, which is the template for multiple choice.

    Raises:
        DataError: see `load_prompt`; also a folder without any such file.
    """
    return {kind: load_prompt(_file(path, kind)) for kind in kinds}


def _file(path: Path | None, kind: Kind) -> Path:
    if path is not None and path.is_dir():
        own = [path / f"{name}.txt" for name in KINDS]
        if not any(file.is_file() for file in own):
            raise DataError(path, f"a prompt file in it: {', '.join(file.name for file in own)}", "none of them")
        path = path / f"{kind}.txt"
        return path if path.is_file() else PROMPTS / path.name
    return PROMPTS / f"{kind}.txt" if path is None or kind != MULTIPLE_CHOICE else path


def load_prompt(path: Path | None = None) -> Prompt:
    """The template at `path`, or the shipped one for multiple choice.

    A template has `{instruction}`, `{golden}` and `{response}` (or `[QUESTION]`, `[GROUND_TRUTH_ANSWER]` and
    `[MODEL_GENERATED_RESPONSE]`) at least once each. `{fence}` stands for a line that does not occur in the response
    and can so mark its ends. Anything else in braces or brackets is left as it is.

    Raises:
        DataError: the file cannot be read, is not UTF-8, or lacks a placeholder.
    """
    file = SHIPPED if path is None else path
    try:
        template = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(file, "a prompt file", "no such file") from None
    except OSError as error:
        raise DataError(file, "a prompt file that can be read", error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise DataError(file, "UTF-8", f"byte {error.start} that is not") from error
    found = {_SPELLINGS[slot] for slot in _SLOT.findall(template)}
    missing = [name for name in _NEEDED if name not in found]
    if missing:
        others = sorted(set(re.findall(r"\{\w+\}|\[[A-Z_]{3,}\]", template)) - set(_SPELLINGS))
        told = f"none of them, but {', '.join(others)}" if others else "no such placeholder"
        raise DataError(file, " and ".join(f"{{{name}}}" for name in missing), told)
    return Prompt(template)


def verdict_code(response: str) -> str:
    """Eight hex digits that do not occur in `response` and that whoever wrote it could not foresee.

    The same response always gets the same code, so that a request can be asked again word for word.
    """
    seed = encode(response)
    while True:
        digest = hashlib.sha256(seed).digest()
        code = digest.hex()[:8]
        if code not in response.casefold():
            return code
        seed = digest


def clean(text: str) -> str:
    """`text` with lone surrogates, which neither a request nor a database takes, replaced by `?`."""
    return encode(text).decode("utf-8")


def encode(text: str) -> bytes:
    """UTF-8, lone surrogates replaced by `?`."""
    return text.encode("utf-8", "replace")
