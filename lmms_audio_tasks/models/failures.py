"""How an item without an answer is told apart from any answer a model may give."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an item has no answer; takes the answer's place until it is handed to the host."""

    message: str

    def __post_init__(self) -> None:
        """Whole characters, as for answers: the host's samples end where it cannot write one."""
        object.__setattr__(self, "message", whole_characters(self.message))

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """The failure that `error` caused."""
        return cls(f"{type(error).__name__}: {error}")


def whole_characters(text: str) -> str:
    """`text` with U+FFFD for each half of a character: a reply that was cut may hold one, the host's files cannot."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
