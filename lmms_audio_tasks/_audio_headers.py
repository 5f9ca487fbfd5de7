"""What a file's first bytes tell before libsndfile decodes it: its format, and whether it has been cut.

Libsndfile silently reads what is there of a WAV, OGG or MP3 file that lacks its end; a model must never hear half a
clip.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lmms_audio_tasks.errors import DataError

READABLE = "WAV, FLAC, OGG (Vorbis, Opus) or MP3 audio"
UNKNOWN_FRAMES = 2**62  # libsndfile gives 2**63 - 1 frames where the header does not tell (FLAC written to a pipe)
_STREAM_SIZE = 0x7FFFF000  # chunk sizes from here on are placeholders of encoders writing to a pipe (sox, ffmpeg)
HEAD = 4096
_OGG_PAGE = 65307  # largest Ogg page, RFC 3533
MP3_SLACK = 2 * 1152  # encoders disagree by a frame or two on what their length header counts

# fmt: off
# (offset, magic, extension) of what libsndfile reads; MP3 without an ID3 tag is told by its frame header.
_KNOWN = (
    (0, b"RIFF", "wav"), (0, b"RIFX", "wav"), (0, b"RF64", "wav"), (0, b"fLaC", "flac"), (0, b"OggS", "ogg"),
    (0, b"ID3", "mp3"), (0, b"FORM", "aiff"), (0, b"riff", "w64"), (0, b".snd", "au"), (0, b"caff", "caf"),
)
_FOREIGN = (
    (4, b"ftyp", "an M4A/MP4 file"), (0, b"\x1a\x45\xdf\xa3", "a WebM/Matroska file"),
    (0, b"\x30\x26\xb2\x75", "a WMA/ASF file"), (0, b"#!AMR", "an AMR file"),
)
# Layer III bit rates (kbit/s) by index, and sampling rates, by the header's version bits (ISO 11172-3, 13818-3).
_MP3_V1 = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_MP3_V2 = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_MP3_RATES = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}
# fmt: on


class AudioError(DataError):
    """Audio that is missing, cut, garbled or of a kind that cannot be read: one line with file, expected and found."""


@dataclass(frozen=True)
class Item:
    """A source that has bytes: in a file, or in memory."""

    name: str
    path: Path | None
    data: bytes | None

    def error(self, expected: str, found: str) -> AudioError:
        """What is wrong with this source."""
        return AudioError(self.name, expected, found)

    def stream(self) -> BinaryIO:
        """The bytes, open for reading; the caller closes it."""
        if self.path is None:
            return io.BytesIO(self.data or b"")
        try:
            return self.path.open("rb")
        except FileNotFoundError:
            raise self.error("an audio file", "no such file") from None
        except IsADirectoryError:
            raise self.error("an audio file", "a folder") from None
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            raise self.error("a file that can be read", getattr(error, "strerror", None) or str(error)) from error


def sniff(item: Item, head: bytes) -> str:
    """The file extension of the format, by its first bytes; refuses everything that is not audio we can read."""
    if not head:
        raise item.error(READABLE, "zero bytes")
    for offset, magic, kind in _KNOWN:
        if head.startswith(magic, offset):
            return kind
    if head.startswith(b"version https://git-lfs"):
        raise item.error(READABLE, "a Git LFS pointer: fetch the audio itself with `git lfs pull`")
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        raise item.error(READABLE, "an HTML or XML page: the download brought an answer of the server, not the audio")
    # A bare MPEG stream begins with 11 set bits; the next ones tell the layer, 0 being AAC's.
    mpeg = len(head) > 1 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0
    if mpeg and head[1] & 0x06:
        return "mp3"
    foreign = [what for offset, magic, what in _FOREIGN if head.startswith(magic, offset)]
    if foreign or mpeg:
        what = foreign[0] if foreign else "a raw AAC stream"
        raise item.error(READABLE, f"{what}, which libsndfile cannot read: convert it to FLAC or WAV first")
    raise item.error(READABLE, f"an unknown format beginning with {head[:8]!r}")


def _cut(item: Item, promised: int, size: int) -> AudioError:
    return item.error(f"{promised} bytes, as the header says", f"{size}: the file is cut")


def check_chunks(item: Item, stream: BinaryIO, head: bytes, size: int) -> bytes | None:
    """Compare the sample chunk of a WAV, RF64 or AIFF file with the size of the file; libsndfile reads what is there.

    Returns the whole file with its data size filled in where an encoder writing to a pipe left it 0 (libsndfile would
    find no samples), else None.
    """
    if head[:4] not in (b"RIFF", b"RIFX", b"RF64", b"FORM"):
        return None
    big = head[:4] in (b"RIFX", b"FORM")
    position, wide = 12, 0
    while True:
        stream.seek(position)
        chunk = stream.read(24)
        if len(chunk) < 8:
            return None
        length = int.from_bytes(chunk[4:8], "big" if big else "little")
        if chunk[:4] == b"ds64":
            wide = int.from_bytes(chunk[16:24], "little")
        if chunk[:4] in (b"data", b"SSND"):
            break
        position += 8 + length + length % 2
    start = position + 8
    if head[:4] == b"RF64" and length == 0xFFFFFFFF:
        length = wide
    if start + length > size and not _STREAM_SIZE <= length <= 0xFFFFFFFF and length < UNKNOWN_FRAMES:
        raise _cut(item, start + length, size)
    whole = int.from_bytes(head[4:8], "little") + 8 == size
    if length or head[:4] != b"RIFF" or whole:
        return None
    stream.seek(0)
    content = bytearray(stream.read())
    content[start - 4 : start] = min(size - start, 0xFFFFFFFF).to_bytes(4, "little")
    return bytes(content)


def check_ogg(item: Item, stream: BinaryIO, size: int) -> None:
    """Find out whether the last page is whole (RFC 3533); libsndfile silently drops one that is not."""
    begin = max(0, size - _OGG_PAGE)
    stream.seek(begin)
    tail = stream.read()
    page = tail.rfind(b"OggS")
    if page < 0:
        return
    segments = tail[page + 26] if page + 26 < len(tail) else 0
    table = tail[page + 27 : page + 27 + segments]
    end = begin + page + 27 + segments + sum(table)
    if end > size:
        raise _cut(item, end, size)


def _mp3_frame(head: bytes) -> tuple[int, int] | None:
    """Bytes and samples of the Layer III frame with this header, or None."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE6 != 0xE2:
        return None
    version, bitrate, rate = head[1] >> 3 & 3, head[2] >> 4, head[2] >> 2 & 3
    if version == 1 or bitrate in (0, 15) or rate == 3:
        return None
    samples = 1152 if version == 3 else 576
    kbps = (_MP3_V1 if version == 3 else _MP3_V2)[bitrate]
    return samples // 8 * kbps * 1000 // _MP3_RATES[version][rate] + (head[2] >> 1 & 1), samples


def mp3_length(item: Item, stream: BinaryIO, size: int) -> int | None:
    """Samples in an MP3 without a length header, counted frame by frame; 0 where it has one, None if not Layer III.

    The header ("Xing" or "Info", in the first frame) may tell the bytes there should be too, which is checked here.
    """
    stream.seek(0)
    tag = stream.read(10)
    start = 0
    if tag[:3] == b"ID3" and len(tag) == 10:
        start = 10 + (tag[6] << 21 | tag[7] << 14 | tag[8] << 7 | tag[9])
    stream.seek(start)
    head = stream.read(HEAD)
    first = _mp3_frame(head)
    if first is None:
        return None
    found = max(head[: first[0]].find(b"Xing"), head[: first[0]].find(b"Info"))
    flags = int.from_bytes(head[found + 4 : found + 8], "big") if found >= 0 else 0
    length = int.from_bytes(head[found + 12 : found + 16], "big") if flags & 3 == 3 else 0
    if start + length > size:
        raise _cut(item, start + length, size)
    if flags & 1:
        return 0
    content = head + stream.read()
    position = total = 0
    while frame := _mp3_frame(content[position : position + 4]):
        position, total = position + frame[0], total + frame[1]
    return total
