"""Any program as a synthesizer: a template of its command line, the text in a file, a recording out.

    mytts --in {text_file} --out {wav} --speaker {reference} --seed {seed}

The template is split into words as a shell splits them, then each word is filled in; no shell ever runs, and the text
never stands on a command line.
"""

from __future__ import annotations

import shlex
import shutil
import string
import tempfile
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.synthesize.tts import Samples, programs
from lmms_audio_tasks.synthesize.voices import Voice

FIELDS = (
    "text_file",
    "wav",
    "voice",
    "voice_id",
    "reference",
    "reference_text_file",
    "pitch",
    "pace",
    "language",
    "seed",
)


class Command:
    """A program called by a template.

    Args:
        template: words with the `FIELDS` in braces, `{text_file}` and `{wav}` among them; `{{` is a brace.
        language: given as `{language}`.
        timeout: seconds for one text.
    """

    def __init__(self, template: str, language: str, timeout: float) -> None:
        self._template, self._language, self._timeout = template, language, timeout
        self._words = _split(template)
        self._named = {name for word in self._words for name in _fields(word)}
        unknown = sorted(self._named - set(FIELDS))
        if unknown:
            raise AudioTasksError(f"--command: no field {{{unknown[0]}}}; there are {', '.join(FIELDS)}")
        missing = [name for name in ("text_file", "wav") if name not in self._named]
        if missing:
            raise AudioTasksError(f"--command: {{{missing[0]}}} is missing from {template!r}")
        if shutil.which(self._words[0]) is None:
            raise AudioTasksError(f"--command: no program {self._words[0]!r}")
        self.draws = "seed" in self._named

    def identity(self) -> dict[str, Any]:
        """The template: whether the program behind it changed cannot be seen."""
        return {"engine": "command", "command": self._template, "language": self._language}

    def voice_fault(self, voice: Voice, reference: Path) -> tuple[str, str] | None:
        """A field of the template that the voice leaves empty, or a reference that is not there."""
        values = {"voice": voice.engine_voice, "pitch": voice.pitch, "pace": voice.pace}
        for name, value in values.items():
            if name in self._named and not value:
                return f"a value for {{{name}}} of the command", "none"
        if "reference" in self._named and not (voice.reference and reference.is_file()):
            return "a reference recording", repr(voice.reference) + (" that is not there" if voice.reference else "")
        if "reference" in self._named and not reference.stat().st_size:
            return "a reference recording", f"{voice.reference!r}, an empty file"
        return None

    def speak(self, text: str, voice: Voice, reference: Path, seed: int) -> tuple[Samples, int]:
        """See `Engine.speak`."""
        with tempfile.TemporaryDirectory() as folder:
            written, said, wav = (Path(folder) / name for name in ("text.txt", "reference.txt", "speech.wav"))
            written.write_text(text, "utf-8")
            said.write_text(voice.reference_text, "utf-8")
            values = {
                "text_file": str(written),
                "wav": str(wav),
                "voice": voice.engine_voice,
                "voice_id": voice.voice_id,
                "reference": str(reference),
                "reference_text_file": str(said),
                "pitch": voice.pitch,
                "pace": voice.pace,
                "language": self._language,
                "seed": str(seed),
            }
            words = [word.format_map(values) for word in self._words]
            programs.run(words, self._timeout)
            return programs.decoded(wav, Path(words[0]).name)


def _split(template: str) -> list[str]:
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise AudioTasksError(f"--command: {template!r} cannot be split into words: {error}") from error
    if not words:
        raise AudioTasksError("--engine command needs --command, e.g. 'mytts --in {text_file} --out {wav}'")
    return words


def _fields(word: str) -> list[str]:
    try:
        found = [(name, spec, how) for _, name, spec, how in string.Formatter().parse(word) if name is not None]
    except ValueError as error:
        raise AudioTasksError(f"--command: {word!r}: {error}; a brace is written twice") from error
    if any(spec or how for _, spec, how in found):
        raise AudioTasksError(f"--command: {word!r}: a field is a name in braces and nothing more")
    return [name for name, _, _ in found]
