"""How an item without an answer is told apart from any answer a model may give."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an item has no answer; takes the answer's place until it is handed to the host."""

    message: str

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """The failure that `error` caused."""
        return cls(f"{type(error).__name__}: {error}")
