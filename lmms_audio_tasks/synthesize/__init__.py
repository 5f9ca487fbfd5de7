"""Text tasks -> spoken, many-voiced test sets in C3T's form, after sections 3, 4, 6 and 7 of the C3T paper.

The way of the data: `tasks_input` -> `speakability` and `normalise` -> `voices` (who says what) -> `make` (`tts` and
`quality`, in processes, with `workfiles` on disk) -> `intelligibility` -> `writer` and `card`. `pipeline` joins these.
"""

from __future__ import annotations

ENGINES = ("espeak", "clone", "command")
"""The synthesizers, see `tts`."""
