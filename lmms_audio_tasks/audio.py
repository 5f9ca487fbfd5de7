"""Audio from a file, bytes or array to mono float32 at the wanted rate, and back to WAV for servers.

The one decoder of the package: libsndfile (through soundfile) and soxr, one item at a time, no cache. Whatever is wrong
with the audio is an `AudioError` of one line: a model must never be scored on missing, cut or garbled sound.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import struct
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import soundfile as sf
import soxr

from lmms_audio_tasks._audio_headers import (
    HEAD,
    MP3_SLACK,
    READABLE,
    UNKNOWN_FRAMES,
    AudioError,
    Item,
    check_chunks,
    check_ogg,
    mp3_length,
    sniff,
)

AudioInput = str | Path | bytes | Mapping[str, Any]
Samples = npt.NDArray[np.float32]

LOUDEST = 16.0  # of float samples, full scale being 1; what lies beyond would reach a server as a square wave
BLOCK = 32768  # frames a read: large enough that Python costs nothing, small enough to stay in the L2 cache


@dataclass(frozen=True)
class Probe:
    """What a file holds.

    Attributes:
        rate: native sampling rate in Hz.
        channels: channel count.
        frames: samples per channel.
        duration: seconds, `frames / rate`.
        format: container as libsndfile names it (`"WAV"`, `"FLAC"`, ...), or `"ARRAY"`.
        subtype: coding as libsndfile names it (`"PCM_16"`, `"VORBIS"`, ...), or the array's dtype.
    """

    rate: int
    channels: int
    frames: int
    duration: float
    format: str
    subtype: str


class _Stream(sf.SoundFile):
    """A SoundFile read from front to back.

    soundfile seeks to where it already is after every read, and libsndfile fails that seek at the end of a FLAC file
    whose header has no length. Told that it cannot seek, it does not.
    """

    def seekable(self) -> bool:
        return False


@dataclass(frozen=True)
class _Reader:
    """An open item: `frames` is None where only decoding tells, `slack` is how many may be missing of them."""

    item: Item
    file: _Stream
    frames: int | None
    slack: int


# --- public functions ---


def load(source: AudioInput, rate: int | None = None) -> tuple[Samples, int]:
    """Decode one item to mono.

    Args:
        source: path, encoded bytes, a Hugging Face `{"bytes", "path"}` dict (bytes win), or an `{"array",
            "sampling_rate"}` dict whose array is `(n,)` or `(channels, n)`, float in [-1, 1] or int16/int32/uint8.
        rate: wanted rate in Hz; None keeps the native one.

    Returns:
        `(samples, rate)`: float32, C-contiguous, shape `(ceil(n * rate / native),)` as librosa has it, in about
        [-1, 1] (integers divided by their full scale, floats as they stand). Channels are averaged before resampling,
        which is soxr's HQ, librosa's default.

    Raises:
        AudioError: anything missing, empty, cut, undecodable or non-finite, or floats far out of that range.
        ValueError: `rate` is not positive.
    """
    if rate is not None and rate <= 0:
        raise ValueError(f"rate must be positive, not {rate}")
    if _is_array(source):
        samples, native = _array_mono(source)
        return _resample([samples], native, rate or native), rate or native
    with _open(_item(source)) as reader:
        native = reader.file.samplerate
        return _resample(_mono_blocks(reader), native, rate or native), rate or native


def probe(source: AudioInput) -> Probe:
    """Read the header only, and compare what it promises with the size of the file.

    MP3 without a length header, and FLAC written to a pipe, hold no length; there the frames are counted.

    Raises:
        AudioError: as `load`, save for faults only decoding can show.
    """
    if _is_array(source):
        return _array_probe(source)
    with _open(_item(source)) as reader:
        frames = sum(map(len, _mono_blocks(reader))) if reader.frames is None else reader.frames
        return _describe(reader, frames)


def verify(source: AudioInput) -> Probe:
    """Decode all of it, block by block in bounded memory, and return what was truly there.

    Raises:
        AudioError: as `load`.
    """
    if _is_array(source):
        _array_mono(source)
        return _array_probe(source)
    with _open(_item(source)) as reader:
        return _describe(reader, sum(map(len, _mono_blocks(reader))))


def content_hash(source: AudioInput) -> str:
    """SHA-256 (64 hex digits) of the encoded bytes as they lie in the file, streamed; the key of caches.

    A path and its bytes hash alike. An array dict hashes its rate, dtype, shape and values. Nothing is decoded, so a
    damaged file has a hash too.

    Raises:
        AudioError: the file is missing or cannot be read, or the array is no audio.
    """
    if _is_array(source):
        array, rate = _array(source)
        head = f"{rate} {array.dtype.str} {array.shape} ".encode()
        return hashlib.sha256(head + np.ascontiguousarray(array).tobytes()).hexdigest()
    digest = hashlib.sha256()
    with _item(source).stream() as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def encode_wav(array: npt.ArrayLike, rate: int) -> bytes:
    """A 16-bit mono PCM WAV file of samples as `load` takes or gives them.

    Values are rounded to the nearest 1/32768 and clipped to [-1, 32767/32768], so 16-bit audio comes back bit for bit
    and any other within one step.

    Raises:
        AudioError: empty, non-finite or wrongly shaped samples.
    """
    samples, rate = _array_mono({"array": array, "sampling_rate": rate})
    pcm = np.clip(np.rint(samples * np.float32(32768)), -32768, 32767).astype("<i2").tobytes()
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(pcm), b"WAVE", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16,
                       b"data", len(pcm))  # fmt: skip
    return head + pcm


def data_uri(source: AudioInput, rate: int = 16000) -> str:
    """`data:audio/wav;base64,...` of the source as 16-bit mono WAV at `rate`, for servers. Raises as `load`."""
    return "data:audio/wav;base64," + base64.b64encode(encode_wav(*load(source, rate))).decode("ascii")


def as_file(source: AudioInput, cache_dir: str | Path) -> Path:
    """A path for any source: its own where it has one, else a file in `cache_dir` named by its content hash.

    Bytes are written unchanged, with the extension of the format found in them; arrays as 16-bit mono WAV at their own
    rate. The file is written beside its name and moved there, so that processes sharing `cache_dir` see it whole or not
    at all.

    Raises:
        AudioError: no such file, or bytes that are not of a known audio format.
    """
    if _is_array(source):
        samples, rate = _array_mono(source)
        item = Item("array", None, encode_wav(samples, rate))
    else:
        item = _item(source)
    with item.stream() as stream:
        kind = sniff(item, stream.read(HEAD))
    if item.data is None:
        return Path(item.name)
    target = Path(cache_dir) / f"{hashlib.sha256(item.data).hexdigest()}.{kind}"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.{os.getpid()}.{uuid.uuid4().hex}")
        try:
            part.write_bytes(item.data)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    return target


# --- decoding ---


def _item(source: AudioInput) -> Item:
    if isinstance(source, bytes):
        return Item(f"audio of {len(source)} bytes", None, source)
    if isinstance(source, str | Path):
        return Item(str(source), Path(source), None)
    if isinstance(source, Mapping):
        data, path = source.get("bytes"), source.get("path")
        if isinstance(data, bytes | bytearray | memoryview):
            return Item(str(path or f"audio of {len(data)} bytes"), None, bytes(data))
        if data is None and isinstance(path, str | Path) and str(path):
            return Item(str(path), Path(path), None)
    found = f"a dict with {sorted(source)}" if isinstance(source, Mapping) else type(source).__name__
    raise AudioError("audio", "a path, bytes, a bytes/path dict or an array/sampling_rate dict", found)


@contextmanager
def _open(item: Item) -> Iterator[_Reader]:
    with item.stream() as stream:
        head = stream.read(HEAD)
        kind = sniff(item, head)
        size = stream.seek(0, io.SEEK_END)
        counted = mp3_length(item, stream, size) if kind == "mp3" else None
        patched = check_chunks(item, stream, head, size)
        if kind == "ogg":
            check_ogg(item, stream, size)
        # By path where there is one: libsndfile then reads by itself, not through callbacks into Python.
        by_path = item.path is not None and patched is None
        target = str(item.path) if by_path else io.BytesIO(patched or item.data or b"")
        try:
            file = _Stream(target)
        except (sf.LibsndfileError, TypeError) as error:  # TypeError: soundfile wants more about files named *.raw
            raise item.error(READABLE, f"what libsndfile cannot open ({_reason(error)})") from error
        with file:
            yield _reader(item, file, counted)


def _reader(item: Item, file: _Stream, counted: int | None) -> _Reader:
    if file.format == "RAW":  # libsndfile goes by the name (*.gsm, *.vox) where the content tells it nothing
        raise item.error(READABLE, "nothing of that kind")
    if file.frames == 0:
        raise item.error("at least one sample", "zero samples")
    _check_rate(item, file.samplerate)
    mpeg = file.subtype.startswith("MPEG")
    if counted:
        if file.frames < counted - MP3_SLACK:
            # libsndfile guesses the length from the first frame's bit rate and never reads past its guess.
            found = f"one of variable bit rate without, of which libsndfile reads {file.frames} samples of {counted}"
            raise item.error("an MP3 with a length header (convert it to FLAC or WAV first)", found)
        return _Reader(item, file, counted, slack=MP3_SLACK)
    if file.frames >= UNKNOWN_FRAMES or (mpeg and counted is None):
        return _Reader(item, file, None, slack=0)
    return _Reader(item, file, file.frames, slack=MP3_SLACK if mpeg else 0)


def _mono_blocks(reader: _Reader) -> Iterator[Samples]:
    """The decoded samples, downmixed: fresh float32 arrays of up to BLOCK samples."""
    file, item = reader.file, reader.item
    # 16-bit WAV is a plain copy as integers, which numpy scales several times faster than libsndfile; the other
    # decoders hand over floats for nothing.
    integers = file.subtype == "PCM_16" and file.format != "FLAC"
    weights = np.full(file.channels, 1 / (file.channels * (32768 if integers else 1)), np.float32)
    done = 0
    try:
        while len(block := file.read(BLOCK, "int16" if integers else "float32", always_2d=True)):
            done += len(block)
            if file.channels > 1:  # many times faster than a mean over the short axis
                mono = block.astype(np.float32, copy=False) @ weights
            else:
                mono = np.multiply(block[:, 0], weights[0], dtype=np.float32) if integers else block[:, 0]
            if file.subtype in ("FLOAT", "DOUBLE"):
                _check_floats(item, mono)
            yield mono
    except sf.LibsndfileError as error:
        found = f"a cut or damaged file: decoding failed after {done} of {reader.frames or 'an unknown number'}"
        raise item.error("audio that decodes to its end", f"{found} samples ({_reason(error)})") from error
    if done == 0 or done < (reader.frames or 0) - reader.slack:
        raise item.error(
            f"{reader.frames or 'some'} samples, as the header says", f"{done}: the file is cut or damaged"
        )


def _resample(blocks: Iterable[Samples], native: int, rate: int) -> Samples:
    """Join blocks of mono samples, resampled on the way."""
    if rate == native:
        return np.concatenate(list(blocks))
    stream = soxr.ResampleStream(native, rate, 1, "float32", "HQ")
    count, parts = 0, []
    for block in blocks:
        count += len(block)
        parts.append(stream.resample_chunk(block))
    parts.append(stream.resample_chunk(np.empty(0, np.float32), last=True))
    wanted = -(-count * rate // native)
    joined = np.concatenate(parts)
    return joined[:wanted] if len(joined) >= wanted else np.pad(joined, (0, wanted - len(joined)))


def _describe(reader: _Reader, frames: int) -> Probe:
    file = reader.file
    return Probe(file.samplerate, file.channels, frames, frames / file.samplerate, file.format, file.subtype)


def _reason(error: Exception) -> str:
    return str(getattr(error, "error_string", None) or error).rstrip(".") or type(error).__name__


def _check_rate(item: Item, rate: int) -> None:
    """Damaged headers give absurd rates, and resampling from 1 Hz would fill the memory."""
    if not 1000 <= rate <= 1_000_000:
        raise item.error("a sampling rate of 1000 to 1000000 Hz", f"{rate} Hz")


def _check_floats(item: Item, samples: Samples) -> None:
    if not np.isfinite(samples).all():
        raise item.error("finite samples", "NaN or infinite samples")
    peak = float(np.abs(samples).max(initial=0))
    if peak > LOUDEST:
        raise item.error("float samples in about [-1, 1]", f"{peak:g}: whole numbers kept as floats, most likely")


# --- arrays ---


def _is_array(source: AudioInput) -> bool:
    return isinstance(source, Mapping) and source.get("array") is not None


def _array(source: AudioInput) -> tuple[npt.NDArray[Any], int]:
    """The array and rate of an array dict, checked for shape and dtype."""
    assert isinstance(source, Mapping)
    item, rate = Item(str(source.get("path") or "array"), None, None), source.get("sampling_rate")
    if not isinstance(rate, int | float | np.number) or not np.isfinite(rate) or int(rate) != rate:
        raise item.error("a whole sampling_rate in Hz", repr(rate))
    _check_rate(item, int(rate))
    try:
        array = np.asarray(source["array"])
    except (ValueError, TypeError) as error:
        raise item.error("an array of samples", str(error)) from error
    if array.size == 0:
        raise item.error("at least one sample", "zero samples")
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[0] > array.shape[1]):
        raise item.error("samples of shape (n,) or (channels, n)", f"shape {array.shape}")
    if not (np.issubdtype(array.dtype, np.floating) or array.dtype in (np.int16, np.int32, np.uint8)):
        raise item.error("samples of float, int16, int32 or uint8", str(array.dtype))
    return array, int(rate)


def _array_mono(source: AudioInput) -> tuple[Samples, int]:
    """A fresh mono float32 copy of an array dict's samples, and its rate."""
    array, rate = _array(source)
    if array.dtype == np.uint8:
        array = (array.astype(np.float32) - 128) / 128
    elif np.issubdtype(array.dtype, np.integer):
        array = array / -float(np.iinfo(array.dtype).min)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows float32 is found by the next check
        mono = np.array(array if array.ndim == 1 else array.mean(axis=0), dtype=np.float32)
    assert isinstance(source, Mapping)
    _check_floats(Item(str(source.get("path") or "array"), None, None), mono)
    return mono, rate


def _array_probe(source: AudioInput) -> Probe:
    array, rate = _array(source)
    channels, frames = (1, *array.shape)[-2:]
    return Probe(rate, channels, frames, frames / rate, "ARRAY", str(array.dtype))
