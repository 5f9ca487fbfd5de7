"""Running a synthesizer that is a program: never through a shell, never longer than allowed, its audio decoded."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lmms_audio_tasks import audio
from lmms_audio_tasks.synthesize.tts import Samples, SpeechError


def run(words: Sequence[str], timeout: float) -> str:
    """Run a program to its end and return what it wrote on stderr and stdout.

    Raises:
        SpeechError: it cannot be started, runs longer than `timeout` seconds, or ends with another code than 0.
    """
    try:
        process = subprocess.Popen(
            list(words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # A group of its own, so that what the program started ends with it.
            start_new_session=True,
        )
    except OSError as error:
        raise SpeechError(f"{words[0]} cannot be started: {error.strerror or error}") from error
    try:
        printed, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise SpeechError(f"{Path(words[0]).name} took longer than {timeout:g} s") from None
    finally:
        _end(process)
    # What a program says goes to a terminal, where control characters would act.
    plain = (character if character.isprintable() else " " for character in printed.decode("utf-8", "replace"))
    told = " ".join("".join(plain).split())
    if process.returncode != 0:
        raise SpeechError(f"{Path(words[0]).name} ended with code {process.returncode}: {told[-200:] or 'no message'}")
    return told


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program's group if it still runs, on whatever way it is left."""
    if process.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()


def decoded(path: Path, program: str) -> tuple[Samples, int]:
    """The audio that a program wrote.

    Raises:
        SpeechError: there is none, or it is empty, cut or no audio.
    """
    if not path.is_file() or not path.stat().st_size:
        raise SpeechError(f"{program} wrote {'an empty file' if path.is_file() else 'no audio file'}")
    try:
        return audio.load(str(path))
    except audio.AudioError as error:
        raise SpeechError(f"{program} wrote audio that cannot be used: {error}") from error
