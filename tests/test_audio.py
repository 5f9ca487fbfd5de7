"""The audio decoder: every format it reads, what it gives back, and every fault it must name."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import pickle
import re
import shutil
import struct
import subprocess
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile as sf
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_audio_tasks import audio
from lmms_audio_tasks.audio import AudioError
from lmms_audio_tasks.errors import AudioTasksError

SAKURA = Path(__file__).parents[1].parent / "shared" / "data" / "sakura"
FFMPEG = shutil.which("ffmpeg")
needs_ffmpeg = pytest.mark.skipif(FFMPEG is None, reason="ffmpeg is not installed")

# What libsndfile lists but cannot write, so that no test file can be made here.
UNWRITABLE = {("WAV", "MPEG_LAYER_III"), ("MP3", "MPEG_LAYER_I"), ("MP3", "MPEG_LAYER_II"), ("AIFF", "DWVW_12")}
FORMATS = [
    (container, subtype)
    for container in ("WAV", "WAVEX", "RF64", "FLAC", "OGG", "MP3", "AIFF", "W64", "AU", "CAF")
    for subtype in sf.available_subtypes(container)
    if (container, subtype) not in UNWRITABLE
]
EIGHT_BIT = ("PCM_U8", "PCM_S8", "ULAW", "ALAW", "IMA_ADPCM", "MS_ADPCM", "GSM610")


def tone(hz: float, rate: int, seconds: float = 1.0, amplitude: float = 0.5) -> np.ndarray:
    return (amplitude * np.sin(2 * np.pi * hz * np.arange(int(rate * seconds)) / rate)).astype(np.float32)


def encoded(samples: np.ndarray, rate: int, container: str = "WAV", subtype: str | None = None) -> bytes:
    buffer = io.BytesIO()
    sf.write(buffer, samples, rate, format=container, subtype=subtype)
    return buffer.getvalue()


def peak_hz(samples: np.ndarray, rate: int) -> float:
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return float(np.argmax(spectrum)) * rate / len(samples)


def rms(samples: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(samples, dtype=np.float64))))


# --- decoding ---


@pytest.mark.parametrize(("container", "subtype"), FORMATS)
def test_every_format_keeps_pitch_and_level(container: str, subtype: str, tmp_path: Path) -> None:
    path = tmp_path / "tone.bin"  # the name must not matter
    path.write_bytes(encoded(tone(440, 24000), 24000, container, subtype))
    samples, rate = audio.load(path, 16000)
    assert (rate, samples.dtype, samples.ndim, samples.flags.c_contiguous) == (16000, np.float32, 1, True)
    # Block codecs may round the length up to their block (at most 2048 samples at 24 kHz).
    assert 16000 <= len(samples) <= 16000 + 1400
    middle = samples[2000:14000]
    assert peak_hz(middle, 16000) == pytest.approx(440, abs=2)
    assert rms(middle) == pytest.approx(0.5 / np.sqrt(2), rel=0.05 if subtype in EIGHT_BIT else 0.02)
    found = audio.probe(path)
    assert (found.rate, found.channels, found.subtype) == (24000, 1, subtype)
    assert found.duration == found.frames / 24000
    assert audio.verify(path) == found


@pytest.mark.parametrize("native", [8000, 11025, 16000, 22050, 44100, 48000, 96000])
@pytest.mark.parametrize("wanted", [8000, 16000, 24000, 44100])
def test_resampling_keeps_pitch_level_and_length(native: int, wanted: int) -> None:
    samples, _ = audio.load(encoded(tone(1000, native, 1.01), native, "WAV", "FLOAT"), wanted)
    assert len(samples) == -(-int(native * 1.01) * wanted // native)
    middle = samples[wanted // 4 : -wanted // 4]
    assert peak_hz(middle, wanted) == pytest.approx(1000, abs=3)
    assert rms(middle) == pytest.approx(0.5 / np.sqrt(2), rel=2e-3)


def test_what_the_new_rate_cannot_hold_is_filtered_out() -> None:
    """10 kHz lies above the 8 kHz half of 16 kHz: without a filter it would come back as 6 kHz."""
    samples, _ = audio.load(encoded(tone(10000, 44100), 44100, "WAV", "FLOAT"), 16000)
    assert rms(samples[2000:-2000]) < 1e-4


@given(st.integers(1, 5000), st.sampled_from([8000, 16000, 22050, 44100, 48000]), st.sampled_from([8000, 16000, 44100]))
@settings(max_examples=60, deadline=None)
def test_length_is_that_of_the_ratio_rounded_up(count: int, native: int, wanted: int) -> None:
    samples, _ = audio.load({"array": np.ones(count, np.float32), "sampling_rate": native}, wanted)
    assert len(samples) == -(-count * wanted // native)
    assert np.isfinite(samples).all()


@pytest.mark.parametrize("count", [audio.BLOCK - 1, audio.BLOCK, audio.BLOCK + 1, 3 * audio.BLOCK + 7])
def test_blocks_join_without_a_seam(count: int) -> None:
    signal = tone(300, 44100, count / 44100 + 0.1)[:count]
    whole, _ = audio.load({"array": signal, "sampling_rate": 44100}, 16000)  # an array is resampled in one piece
    blocks, _ = audio.load(encoded(signal, 44100, "WAV", "FLOAT"), 16000)
    np.testing.assert_allclose(blocks, whole, atol=1e-6)


def test_native_16_bit_is_exact() -> None:
    values = np.array([-32768, -32767, -1, 0, 1, 12345, 32767], np.int16)
    samples, rate = audio.load(encoded(values, 22050))
    assert rate == 22050
    np.testing.assert_array_equal(samples, values.astype(np.float32) / 32768)


@pytest.mark.parametrize(
    ("subtype", "values", "expected"),
    [
        ("PCM_U8", [-(2**31), 0, 2**30], [-1.0, 0.0, 0.5]),
        ("PCM_24", [-(2**31), 256, 2**30], [-1.0, 2.0**-23, 0.5]),
        ("PCM_32", [-(2**31), 256, 2**30], [-1.0, 2.0**-23, 0.5]),
    ],
)
def test_bit_depths_share_one_scale(subtype: str, values: list[int], expected: list[float]) -> None:
    samples, _ = audio.load(encoded(np.array(values, np.int32), 16000, "WAV", subtype))
    np.testing.assert_array_equal(samples, np.array(expected, np.float32))


@pytest.mark.parametrize("subtype", ["PCM_16", "FLOAT"])
@pytest.mark.parametrize("channels", [1, 2, 3, 6])
def test_downmix_is_the_mean_of_the_channels(subtype: str, channels: int) -> None:
    values = np.random.default_rng(channels).integers(-20000, 20000, (1000, channels)).astype(np.float32) / 32768
    samples, _ = audio.load(encoded(values, 16000, "WAV", subtype))
    np.testing.assert_allclose(samples, values.mean(axis=1, dtype=np.float64), atol=1e-6)


def test_opposite_channels_cancel() -> None:
    left = tone(440, 44100)
    samples, _ = audio.load(encoded(np.stack([left, -left], 1), 44100, "WAV", "FLOAT"), 16000)
    assert np.abs(samples).max() < 1e-6


def test_floats_beyond_full_scale_are_left_alone() -> None:
    samples, _ = audio.load(encoded(np.array([1.5, -2.0], np.float32), 16000, "WAV", "FLOAT"))
    assert samples.tolist() == [1.5, -2.0]


@pytest.mark.parametrize("container", ["WAV", "FLAC", "OGG", "AIFF"])
def test_one_sample_is_audio(container: str) -> None:
    data = encoded(np.array([0.25], np.float32), 16000, container)
    assert audio.probe(data).frames == 1
    assert [len(audio.load(data, rate)[0]) for rate in (None, 16000, 8000, 48000)] == [1, 1, 1, 3]


# --- inputs ---


@pytest.mark.parametrize(
    "name", ["plain.wav", "naïve café.wav", "犬の声.wav", "space and 'quote'.wav", "named.raw", "none"]
)
def test_all_ways_to_name_a_source_agree(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    data = encoded(tone(440, 16000, 0.1), 16000)
    path.write_bytes(data)
    sources: list[audio.AudioInput] = [path, str(path), data, {"bytes": data, "path": "elsewhere.wav"}]
    sources += [{"bytes": None, "path": str(path)}, {"path": str(path)}, {"bytes": data, "path": None}]
    if name.endswith(".raw"):  # soundfile takes the name for headerless data; the bytes are read all the same
        with pytest.raises(AudioError, match=r"named\.raw"):
            audio.load(path)
        sources = sources[2:4]
    expected, _ = audio.load(data)
    for source in sources:
        np.testing.assert_array_equal(audio.load(source)[0], expected)
        assert audio.probe(source).frames == 1600
        assert audio.content_hash(source) == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array([0.5, -0.5], np.float64), [0.5, -0.5]),
        ([0.5, -0.5], [0.5, -0.5]),
        (np.array([[0.5, 0.0], [0.0, 1.0]], np.float32), [0.25, 0.5]),
        (np.array([[1.0, 0.0, 0.5]], np.float16), [1.0, 0.0, 0.5]),
        (np.array([-32768, 16384], np.int16), [-1.0, 0.5]),
        (np.array([-(2**31), 2**30], np.int32), [-1.0, 0.5]),
        (np.array([0, 128, 192], np.uint8), [-1.0, 0.0, 0.5]),
    ],
)
def test_array_dicts(array: object, expected: list[float]) -> None:
    samples, rate = audio.load({"array": array, "sampling_rate": 16000, "path": None})
    assert (rate, samples.dtype, samples.tolist()) == (16000, np.float32, expected)


def test_array_dict_is_copied_and_probed() -> None:
    array = np.zeros((2, 800), np.float32)
    source = {"array": array, "sampling_rate": 8000}
    samples, _ = audio.load({"array": array[0], "sampling_rate": 8000})
    samples += 1
    assert not array.any()
    assert audio.probe(source) == audio.verify(source) == audio.Probe(8000, 2, 800, 0.1, "ARRAY", "float32")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ({"array": np.zeros((800, 2), np.float32), "sampling_rate": 8000}, r"\(channels, n\); found shape \(800, 2\)"),
        ({"array": np.zeros((1, 2, 8)), "sampling_rate": 8000}, r"shape \(1, 2, 8\)"),
        ({"array": np.zeros(0), "sampling_rate": 8000}, "zero samples"),
        ({"array": [[0.0], [0.0, 0.0]], "sampling_rate": 8000}, "expected an array of samples"),
        ({"array": np.array([True, False]), "sampling_rate": 8000}, "found bool"),
        ({"array": np.array([1, 2]), "sampling_rate": 8000}, "found int64"),
        ({"array": np.array([0.0, np.nan]), "sampling_rate": 8000}, "NaN or infinite"),
        ({"array": np.array([0.0, 1e300]), "sampling_rate": 8000}, "NaN or infinite"),
        ({"array": np.zeros(4)}, "sampling_rate in Hz; found None"),
        ({"array": np.zeros(4), "sampling_rate": 0}, "1000000 Hz; found 0 Hz"),
        ({"array": np.zeros(4), "sampling_rate": np.inf}, "found inf"),
        ({"array": np.zeros(4), "sampling_rate": 44100.5}, "found 44100.5"),
        ({"url": "x.wav"}, r"found a dict with \['url'\]"),
        ({"bytes": None, "path": None}, "found a dict"),
        ({"bytes": "a.wav", "path": "a.wav"}, "found a dict"),
        (None, "found NoneType"),
        (["a.wav"], "found list"),
    ],
)
def test_sources_that_are_none(source: audio.AudioInput, says: str) -> None:
    with pytest.raises(AudioError, match=says):
        audio.load(source, 16000)


@pytest.mark.parametrize("rate", [0, -16000])
def test_rate_must_be_positive(rate: int) -> None:
    with pytest.raises(ValueError, match="positive"):
        audio.load(encoded(tone(440, 16000, 0.1), 16000), rate)


# --- faults ---

HEADERS = [
    ("empty", b"", "found zero bytes"),
    ("lfs", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "git lfs pull"),
    ("html", b"\n<!DOCTYPE html><html><body>404</body></html>", "an HTML or XML page"),
    ("xml", b"\xef\xbb\xbf<?xml version='1.0'?><Error/>", "an HTML or XML page"),
    ("m4a", b"\0\0\0 ftypM4A \0\0\2\0", "M4A/MP4 file, which libsndfile cannot read: convert it to FLAC or WAV first"),
    ("webm", b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81", "WebM/Matroska file, which libsndfile cannot read: convert it"),
    ("aac", b"\xff\xf1\x50\x80\x26\x7f\xfc\xde", "a raw AAC stream, which libsndfile cannot read: convert it"),
    ("wma", b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "WMA/ASF file, which libsndfile cannot read: convert it"),
    ("amr", b"#!AMR\n", "AMR file, which libsndfile cannot read: convert it"),
    ("text", b"hello, this is no audio", "unknown format beginning with b'hello, t'"),
    ("zeros", bytes(1000), "unknown format"),
    ("riff only", b"RIFF", "libsndfile cannot open"),
    ("flac only", b"fLaC" + bytes(100), "libsndfile cannot open"),
    ("ogg only", b"OggS" + bytes(100), "libsndfile cannot open"),
    ("no frames", encoded(np.zeros(0, np.float32), 16000), "at least one sample; found zero samples"),
    ("no frames, but a chunk", encoded(np.zeros(0), 16000) + b"LIST\4\0\0\0INFO", "zero samples"),
    ("no ogg frames", encoded(np.zeros(0, np.float32), 16000, "OGG"), "zero samples"),
]


@pytest.mark.parametrize("function", [audio.load, audio.probe, audio.verify])
@pytest.mark.parametrize(("data", "says"), [row[1:] for row in HEADERS], ids=[row[0] for row in HEADERS])
def test_what_is_no_audio_is_named(data: bytes, says: str, function, tmp_path: Path) -> None:
    if data.endswith(b"INFO"):
        data = data[:4] + struct.pack("<I", len(data) - 8) + data[8:]
    path = tmp_path / "clip.wav"
    path.write_bytes(data)
    for source in (path, {"bytes": data, "path": "clip.wav"}):
        with pytest.raises(AudioError, match=says) as caught:
            function(source)
        assert re.match(r".*clip\.wav: expected .+; found .+", str(caught.value))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("function", [audio.load, audio.probe, audio.verify, audio.content_hash])
def test_missing_file_folder_and_bad_name(function, tmp_path: Path) -> None:
    for path, says in ((tmp_path / "no.wav", "no such file"), (tmp_path, "a folder"), ("a\0b", "null byte")):
        with pytest.raises(AudioError, match=says):
            function(path)
    with pytest.raises(AudioError, match="no such file"):
        audio.as_file(tmp_path / "no.wav", tmp_path)


@pytest.mark.parametrize("name", ["noise.gsm", "noise.vox", "noise.mp3", "noise.wav"])
def test_noise_is_not_decoded_whatever_its_name(name: str, tmp_path: Path) -> None:
    """libsndfile decodes anything named .gsm or .vox of which it knows nothing better."""
    noise = np.random.default_rng(5).bytes(5000)
    for data in (noise, b"ID3\4\0\0\0\0\0\0" + noise, b"RIFF\0\0\0\0AVI " + noise):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(AudioError, match="WAV, FLAC, OGG"):
            audio.load(tmp_path / name)


@pytest.mark.parametrize("fraction", [0.3, 0.9, "one byte"])
@pytest.mark.parametrize(
    ("container", "subtype", "shows_in_header"),
    [("WAV", "PCM_16", True), ("WAV", "FLOAT", True), ("WAV", "IMA_ADPCM", True), ("RF64", "PCM_16", True),
     ("AIFF", "PCM_16", True), ("OGG", "VORBIS", True), ("OGG", "OPUS", True), ("MP3", "MPEG_LAYER_III", True),
     ("FLAC", "PCM_16", False)],
)  # fmt: skip
def test_cut_files_are_found(container: str, subtype: str, shows_in_header: bool, fraction: float | str) -> None:
    noise = (0.1 * np.random.default_rng(0).standard_normal(48000 * 2)).astype(np.float32)
    data = encoded(noise, 48000, container, subtype)
    cut = data[: len(data) - 1 if isinstance(fraction, str) else int(len(data) * fraction)]
    assert audio.verify(data).frames >= 96000
    for function in (audio.load, audio.verify, *([audio.probe] if shows_in_header else [])):
        with pytest.raises(AudioError, match="cut"):
            function(cut)


@pytest.mark.parametrize("container", ["FLAC", "OGG", "MP3"])
def test_damage_in_the_middle_is_found_by_decoding(container: str) -> None:
    rng = np.random.default_rng(0)
    data = bytearray(encoded((0.1 * rng.standard_normal(48000 * 2)).astype(np.float32), 48000, container))
    data[len(data) // 2 : len(data) // 2 + 4000] = rng.bytes(4000)
    for function in (audio.load, audio.verify):
        with pytest.raises(AudioError, match="cut or damaged"):
            function(bytes(data))


SMALL = {
    kind: encoded(np.stack([tone(440, 16000, 0.1)] * 2, 1), 16000, kind)
    for kind in ("WAV", "RF64", "FLAC", "OGG", "MP3", "AIFF", "W64", "AU", "CAF")
}


# soundfile reports, and libsndfile survives, seeks that damaged headers send before the start of in-memory files.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@given(st.data(), st.sampled_from(sorted(SMALL)))
@settings(max_examples=300, deadline=None)
def test_damage_gives_audio_or_an_audio_error(data: st.DataObject, kind: str) -> None:
    """Whatever bytes are changed or lost: never another exception, never an unfit array."""
    broken = bytearray(SMALL[kind])
    for _ in range(data.draw(st.integers(0, 4))):
        # Headers are where damage is dangerous.
        where = data.draw(st.integers(0, 99) | st.integers(0, len(broken) - 1))
        broken[where] = data.draw(st.integers(0, 255))
    broken = broken[: data.draw(st.integers(0, len(broken)) | st.just(len(broken)))]
    for function in (audio.probe, audio.verify):
        with contextlib.suppress(AudioError):
            assert function(bytes(broken)).frames > 0
    try:
        samples, _ = audio.load(bytes(broken), 16000)
    except AudioError:
        return
    assert samples.dtype == np.float32
    assert samples.ndim == 1
    assert len(samples) > 0


@pytest.mark.parametrize("subtype", ["FLOAT", "DOUBLE"])
def test_whole_numbers_kept_as_floats_are_refused(subtype: str) -> None:
    """Sent to a server they would be clipped to a square wave, and an answer about that be scored."""
    loud = tone(300, 16000, 0.1) * 20_000
    sources: list[Any] = [encoded(loud, 16000, "WAV", subtype), {"array": loud, "sampling_rate": 16000}]
    for source in sources:
        with pytest.raises(audio.AudioError, match=r"expected float samples in about \[-1, 1\]; found 1\d{4}"):
            audio.load(source, 16000)
    with pytest.raises(audio.AudioError, match="float samples"):
        audio.encode_wav(loud, 16000)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_non_finite_samples_are_refused(value: float) -> None:
    signal = np.zeros(audio.BLOCK + 10)
    signal[-1] = value
    for channels in (signal, np.stack([signal, signal], 1)):
        data = encoded(channels, 16000, "WAV", "DOUBLE")
        for function in (audio.load, audio.verify):
            with pytest.raises(AudioError, match="NaN or infinite"):
                function(data)


@pytest.mark.parametrize("size", [0, 0x7FFFF000, 0x7FFFFFFF, 0xFFFFFFFF])
def test_wav_written_to_a_pipe_is_read_whole(size: int, tmp_path: Path) -> None:
    data = encoded(tone(440, 16000), 16000)
    riff = 0xFFFFFFFF if size == 0xFFFFFFFF else size
    piped = data[:4] + struct.pack("<I", riff) + data[8:40] + struct.pack("<I", size) + data[44:]
    (tmp_path / "piped.wav").write_bytes(piped)
    for source in (piped, tmp_path / "piped.wav"):
        assert audio.probe(source).frames == audio.verify(source).frames == 16000
        np.testing.assert_array_equal(audio.load(source)[0], audio.load(data)[0])


def test_chunks_after_the_samples_are_no_samples() -> None:
    """Also where whoever appended them left the RIFF size as it was."""
    data = encoded(tone(440, 16000), 16000)
    assert audio.verify(data + b"LIST" + struct.pack("<I", 1000) + bytes(1000)).frames == 16000


def test_flac_written_to_a_pipe_is_read_whole() -> None:
    """Such a file gives 0 for its length: 36 bits from the middle of byte 21 on."""
    data = encoded(tone(440, 16000, 5.0), 16000, "FLAC")
    piped = data[:21] + bytes([data[21] & 0xF0]) + bytes(4) + data[26:]
    assert piped != data
    assert audio.probe(piped).frames == audio.verify(piped).frames == 80000
    np.testing.assert_array_equal(audio.load(piped)[0], audio.load(data)[0])
    with pytest.raises(AudioError, match="an unknown number"):
        audio.load(piped[: len(piped) * 2 // 3])


def without_length_header(data: bytes) -> bytes:
    return re.sub(rb"Xing|Info", bytes(4), data, count=1)


def test_mp3_of_variable_rate_without_length_is_refused() -> None:
    """libsndfile takes the first frame's bit rate for all, and stops reading where that puts the end."""
    loud = 0.3 * np.random.default_rng(0).standard_normal(44100 * 3)
    loud[:44100] *= 1e-3
    data = encoded(loud.astype(np.float32), 44100, "MP3")
    assert audio.verify(data).frames == 44100 * 3
    bare = without_length_header(data)
    assert sf.info(io.BytesIO(bare)).frames < 44100 * 2.9
    for function in (audio.load, audio.probe, audio.verify):
        with pytest.raises(AudioError, match="MP3 with a length header"):
            function(bare)


@needs_ffmpeg
@pytest.mark.parametrize("rate", [8000, 16000, 22050, 44100, 48000])
@pytest.mark.parametrize(
    "options", ["", "-q:a 4", "-b:a 64k -write_xing 0", "-b:a 64k -id3v2_version 0", "-write_id3v1 1"]
)
def test_mp3_made_by_ffmpeg(rate: int, options: str, tmp_path: Path) -> None:
    sf.write(tmp_path / "in.wav", np.stack([tone(440, rate, 2)] * 2, 1), rate)
    path = tmp_path / "out.mp3"
    subprocess.run([FFMPEG, "-v", "error", "-i", tmp_path / "in.wav", *options.split(), path], check=True)
    samples, _ = audio.load(path)
    # Without the header the encoder's delay and the padding of its last frame stay in.
    assert 2 * rate <= len(samples) <= 2 * rate + (3 * 1152 if "write_xing 0" in options else 0)
    assert peak_hz(samples[rate // 2 : -rate // 2], rate) == pytest.approx(440, abs=2)
    assert audio.probe(path).frames == pytest.approx(len(samples), abs=2 * 1152)


@needs_ffmpeg
@pytest.mark.parametrize(("name", "codec"), [("a.wav", "libmp3lame"), ("a.mp2", "mp2")])
def test_mpeg_audio_of_unknown_length_is_counted(name: str, codec: str, tmp_path: Path) -> None:
    sf.write(tmp_path / "in.wav", tone(440, 44100, 2), 44100)
    subprocess.run([FFMPEG, "-v", "error", "-i", tmp_path / "in.wav", "-c:a", codec, tmp_path / name], check=True)
    samples, _ = audio.load(tmp_path / name)
    assert 88200 <= len(samples) <= 88200 + 3 * 1152
    assert audio.probe(tmp_path / name).frames == audio.verify(tmp_path / name).frames == len(samples)


@needs_ffmpeg
@pytest.mark.parametrize(
    ("name", "codec"), [("a.m4a", "aac"), ("a.aac", "aac"), ("a.webm", "libopus"), ("a.wma", "wmav2")]
)
def test_real_foreign_files_are_refused(name: str, codec: str, tmp_path: Path) -> None:
    sf.write(tmp_path / "in.wav", tone(440, 48000), 48000)
    subprocess.run([FFMPEG, "-v", "error", "-i", tmp_path / "in.wav", "-c:a", codec, tmp_path / name], check=True)
    with pytest.raises(AudioError, match="which libsndfile cannot read: convert it to FLAC or WAV first"):
        audio.load(tmp_path / name)


def test_the_error_is_a_user_error_and_crosses_processes() -> None:
    with pytest.raises(AudioTasksError) as caught:
        audio.load("no/such.wav")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(copy, AudioError)
    assert str(copy) == str(caught.value) == "no/such.wav: expected an audio file; found no such file"


def test_verify_holds_one_block_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "long.wav"
    sf.write(path, np.zeros(4_000_000, np.int16), 44100)
    tracemalloc.start()
    try:
        assert audio.verify(path).frames == 4_000_000
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


# --- encoding ---


@given(st.lists(st.floats(-1.25, 1.25, width=32), min_size=1, max_size=50), st.sampled_from([8000, 16000, 44100]))
@settings(deadline=None)
def test_wav_round_trip_is_within_one_step(values: list[float], rate: int) -> None:
    data = audio.encode_wav(np.array(values, np.float32), rate)
    samples, found = audio.load(data)
    assert found == rate
    assert np.abs(samples - np.clip(values, -1, 1)).max() <= 1 / 32768
    assert audio.encode_wav(samples, rate) == data


def test_wav_rounds_to_the_nearest_step() -> None:
    samples, _ = audio.load(audio.encode_wav(np.array([0.4, 0.6, -0.4, -0.6, 1.4]) / 32768, 16000))
    assert (samples * 32768).tolist() == [0, 1, 0, -1, 1]


def test_wav_is_what_others_write_and_clips() -> None:
    data = audio.encode_wav(np.array([0.0, 0.5, -1.0, 1.0, 7.0, -7.0]), 16000)
    assert sf.read(io.BytesIO(data), dtype="int16")[0].tolist() == [0, 16384, -32768, 32767, 32767, -32768]
    info = sf.info(io.BytesIO(data))
    assert (info.samplerate, info.channels, info.format, info.subtype) == (16000, 1, "WAV", "PCM_16")
    assert data[:44] == encoded(np.zeros(6, np.int16), 16000)[:44]


@pytest.mark.parametrize("values", [[], [np.nan], [np.inf, 0.0], np.zeros((3, 2))])
def test_wav_of_nothing_is_refused(values: object) -> None:
    with pytest.raises(AudioError):
        audio.encode_wav(np.array(values), 16000)


def test_data_uri_decodes_to_the_audio() -> None:
    head, _, payload = audio.data_uri(encoded(np.stack([tone(440, 44100)] * 2, 1), 44100, "FLAC")).partition(",")
    samples, rate = audio.load(base64.b64decode(payload, validate=True))
    assert (head, rate, len(samples)) == ("data:audio/wav;base64", 16000, 16000)
    assert peak_hz(samples, 16000) == pytest.approx(440, abs=2)


def test_content_hash_is_of_the_file_not_of_the_sound(tmp_path: Path) -> None:
    signal = tone(440, 16000, 0.1)
    assert audio.content_hash(encoded(signal, 16000, "WAV")) != audio.content_hash(encoded(signal, 16000, "FLAC"))
    arrays = [
        {"array": signal, "sampling_rate": 16000},
        {"array": signal, "sampling_rate": 8000},
        {"array": signal.astype(np.float64), "sampling_rate": 16000},
        {"array": signal[None], "sampling_rate": 16000},
        {"array": -signal, "sampling_rate": 16000},
    ]
    assert len({audio.content_hash(array) for array in arrays}) == 5
    assert audio.content_hash(arrays[0]) == audio.content_hash({"array": signal.copy(), "sampling_rate": 16000})


# --- as_file ---


@pytest.mark.parametrize(
    ("container", "suffix"), [("WAV", ".wav"), ("FLAC", ".flac"), ("OGG", ".ogg"), ("MP3", ".mp3"), ("AIFF", ".aiff")]
)
def test_bytes_become_a_file_once(container: str, suffix: str, tmp_path: Path) -> None:
    data = encoded(tone(440, 16000), 16000, container)
    cache = tmp_path / "new" / "cache"
    path = audio.as_file({"bytes": data, "path": "misleading.txt"}, cache)
    assert path == cache / (hashlib.sha256(data).hexdigest() + suffix)
    assert path.read_bytes() == data
    written = path.stat().st_mtime_ns
    assert audio.as_file(data, cache) == path
    assert path.stat().st_mtime_ns == written
    assert list(cache.iterdir()) == [path]


def test_a_path_stays_itself(tmp_path: Path) -> None:
    path = tmp_path / "clip.wav"
    path.write_bytes(encoded(tone(440, 16000), 16000))
    assert audio.as_file(str(path), tmp_path / "cache") == path
    assert audio.as_file({"bytes": None, "path": str(path)}, tmp_path / "cache") == path
    assert not (tmp_path / "cache").exists()


def test_an_array_becomes_a_wav_file(tmp_path: Path) -> None:
    signal = tone(440, 22050)
    samples, rate = audio.load(audio.as_file({"array": signal, "sampling_rate": 22050}, tmp_path))
    assert rate == 22050
    np.testing.assert_allclose(samples, signal, atol=1 / 32768)


def test_bytes_that_are_no_audio_leave_no_file(tmp_path: Path) -> None:
    with pytest.raises(AudioError, match="Git LFS"):
        audio.as_file(b"version https://git-lfs.github.com/spec/v1", tmp_path)
    assert not list(tmp_path.iterdir())


def file_of_bytes(source: Path, folder: Path) -> Path:
    """Bytes are read where they are used: a pool that is handed much hangs if one of its processes dies."""
    return audio.as_file(source.read_bytes(), folder)


def test_many_processes_write_one_file(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    data = encoded(tone(440, 44100, 5), 44100)
    source = tmp_path_factory.mktemp("source") / "a.wav"
    source.write_bytes(data)
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        paths = list(pool.map(file_of_bytes, [source] * 16, [tmp_path] * 16))
    assert len(set(paths)) == 1
    assert list(tmp_path.iterdir()) == [paths[0]]
    assert paths[0].read_bytes() == data


# --- real data ---


@pytest.mark.skipif(not SAKURA.is_dir(), reason="the slice of SAKURA is not on this machine")
def test_real_recordings_are_what_the_benchmark_says() -> None:
    paths = sorted(SAKURA.glob("*/audio/*.wav"))
    assert len(paths) == 96
    for path in paths:
        found = audio.verify(path)
        assert (found.rate, found.channels, found.format, found.subtype) == (16000, 1, "WAV", "PCM_16")
        assert 0.2 < found.duration < 21
        assert len(audio.load(path, 16000)[0]) == found.frames
