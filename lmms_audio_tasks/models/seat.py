"""One model in memory at a time, where that is asked for."""

from __future__ import annotations

import gc
from collections.abc import Callable

from lmms_audio_tasks.models.batches import free_memory


class Seat:
    """What a model takes before it is loaded: the one that had it is let go of.

    Args:
        single: False for no limit; then nothing is ever let go of.
    """

    def __init__(self, single: bool) -> None:
        self._single = single
        self._let_go: Callable[[], None] | None = None

    def take(self, let_go: Callable[[], None]) -> None:
        """Make room; `let_go` frees the new model when the next takes the seat, and may be called without need."""
        if not self._single:
            return
        if self._let_go is not None and self._let_go != let_go:
            self._let_go()
            gc.collect()
            free_memory()
        self._let_go = let_go
