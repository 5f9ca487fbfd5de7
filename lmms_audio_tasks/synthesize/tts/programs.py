"""Running a synthesizer that is a program: never through a shell, never longer than allowed, its audio decoded."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from lmms_audio_tasks import audio
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.synthesize.tts import Samples, SpeechError

_READ = 1 << 16
"""Bytes that are read of what a program printed: the last ones."""
_ROOM = 1 << 16
"""Bytes that must be free after a recording was written."""


def run(words: Sequence[str], timeout: float) -> str:
    """Run a program to its end and return what it wrote on stderr and stdout; what it left running ends with it.

    Raises:
        SpeechError: it cannot be started, runs longer than `timeout` seconds, or ends with another code than 0.
    """
    try:
        # No pipe: one is at its end only when all that the program started have closed it, too.
        with tempfile.TemporaryFile() as printed:
            process = subprocess.Popen(
                list(words),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                # A group of its own, so that what the program started ends with it.
                start_new_session=True,
            )
            late = _waited_too_long(process, timeout)
            printed.seek(max(0, printed.seek(0, os.SEEK_END) - _READ))
            said = printed.read()
    except OSError as error:
        raise SpeechError(f"{words[0]} cannot be started: {error.strerror or error}") from error
    if late:
        raise SpeechError(f"{Path(words[0]).name} took longer than {timeout:g} s")
    # What a program says goes to a terminal, where control characters would act.
    plain = (character if character.isprintable() else " " for character in said.decode("utf-8", "replace"))
    told = " ".join("".join(plain).split())
    if process.returncode != 0:
        raise SpeechError(f"{Path(words[0]).name} ended with code {process.returncode}: {told[-200:] or 'no message'}")
    return told


def _waited_too_long(process: subprocess.Popen[bytes], timeout: float) -> bool:
    """Wait for the program's end and end its group, on whatever way this is left; whether `timeout` came first."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        _end(process)

    # `Popen.wait(timeout)` looks only now and then, which would double the time of a quick program.
    timer = threading.Timer(timeout, stop)
    timer.daemon = True
    timer.start()
    try:
        process.wait()
    finally:
        timer.cancel()
        _end(process)
        process.wait()
    return late.is_set()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program's group; nothing where all of it has ended."""
    if not hasattr(os, "killpg"):
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def decoded(path: Path, program: str) -> tuple[Samples, int]:
    """The audio that a program wrote into a folder of its own.

    Raises:
        SpeechError: there is none, or it is empty, cut or no audio.
        DataError: the disk is full there.
    """
    _require_room(path.parent)
    if not path.is_file() or not path.stat().st_size:
        raise SpeechError(f"{program} wrote {'an empty file' if path.is_file() else 'no audio file'}")
    try:
        return audio.load(str(path))
    except audio.AudioError as error:
        raise SpeechError(f"{program} wrote audio that cannot be used: {error}") from error


def _require_room(folder: Path) -> None:
    """Stop where the disk is full: espeak-ng, for one, leaves a recording that is cut, and ends as if all were well."""
    probe = folder / "room"
    try:
        probe.write_bytes(bytes(_ROOM))
    except OSError as error:
        raise DataError(folder.parent, "room for temporary files", error.strerror or str(error)) from error
    finally:
        probe.unlink(missing_ok=True)
