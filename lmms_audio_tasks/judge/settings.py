"""What the judge is and how it is asked: options, their environment variables and their checks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.registry import UnknownNameError
from lmms_audio_tasks.servers.address import OPENAI_URL, key_from_environment, url_from_environment, url_parts

if TYPE_CHECKING:
    from lmms_audio_tasks.judge.prompt import Kind

Mode = Literal["rule", "llm", "hybrid"]
"""`rule`: the option matcher, and for open questions the reference word for word. `llm`: a language model judges every
response. `hybrid`: the rules decide what they are sure of, and only the rest goes to the language model."""

MODES: tuple[Mode, ...] = get_args(Mode)
MODE_VARIABLE = "LMMS_AUDIO_JUDGE"


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Who judges, and how. The defaults are the paper's (SAKURA, section 3.1) except `mode`, which is the matcher.

    Attributes:
        model: the name the server knows the judge by.
        base_url: any OpenAI-compatible server; default `OPENAI_BASE_URL`, else OpenAI's own.
        api_key: default `OPENAI_API_KEY`. It is in no log, error, result, cache or repr.
        temperature: sampling settings, as are `top_p` and `max_tokens`.
        concurrency: how many requests are under way at once.
        timeout: seconds one request may take before it is tried again.
        max_retries: how often one request is tried again after a timeout, a lost connection or a 408, 409, 429 or 5xx.
            The pauses double from 0.5 s to 8 s (or are what `Retry-After` says), so that the default of 8 outlasts a
            server that is away for 40 s.
        give_up_after: after so many requests in a row that failed with all their retries, the run stops.
        prompt: a template instead of the shipped one for multiple choice, or a folder of templates, see `prompt.py`.
        cache: where verdicts are kept; default `judge.sqlite3` in the cache folder.
        input_price: per million prompt tokens, as is `output_price` for completion tokens; None: no cost estimate.

    Raises:
        AudioTasksError: an unknown mode (`UnknownNameError` with the nearest ones), or a value out of range.
    """

    mode: Mode = "rule"
    model: str = "gpt-4o-2024-11-20"
    # A base URL may hold a password, so it is as little in the repr as the key.
    base_url: str = field(default_factory=url_from_environment, repr=False)
    api_key: str = field(default_factory=key_from_environment, repr=False, compare=False)
    temperature: float = 0.0
    top_p: float = 0.9
    max_tokens: int = 1024
    concurrency: int = 16
    timeout: float = 60.0
    max_retries: int = 8
    give_up_after: int = 10
    prompt: Path | None = None
    cache: Path | None = None
    input_price: float | None = None
    output_price: float | None = None

    def __post_init__(self) -> None:
        """Check every value once, here."""
        if self.mode not in MODES:
            raise UnknownNameError("judge", str(self.mode), MODES)
        if not self.model.strip():
            raise AudioTasksError("the judge's model needs a name")
        clean_url(self.base_url)
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise AudioTasksError(f"the judge's {name} must be from {low:g} to {high:g}, not {value:g}")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, **options: Any) -> JudgeSettings:
        """The settings that `LMMS_AUDIO_JUDGE` (mode), `LMMS_AUDIO_JUDGE_MODEL`, `..._BASE_URL`, ... give.

        Args:
            environment: default `os.environ`.
            options: fields that win over the environment; None stands for "not given".

        Raises:
            AudioTasksError: see the class; also a variable that is not a number where one is needed.
        """
        environment = os.environ if environment is None else environment
        values: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        for name, read in _READERS.items():
            variable = MODE_VARIABLE if name == "mode" else f"{MODE_VARIABLE}_{name.upper()}"
            text = environment.get(variable, "").strip()
            if text and name not in values:
                values[name] = _read(variable, text, read)
        return cls(**values)

    @property
    def cache_file(self) -> Path:
        """Where verdicts are kept."""
        if self.cache is not None:
            return self.cache
        from lmms_audio_tasks.cache import cache_root

        return cache_root() / "judge.sqlite3"

    def require_key(self) -> None:
        """Raise `AudioTasksError` where there is no key although the server is OpenAI's, which takes none without."""
        if not self.api_key and clean_url(self.base_url).rstrip("/") == OPENAI_URL:
            raise AudioTasksError(
                "the LLM judge needs a key: set OPENAI_API_KEY, or OPENAI_BASE_URL for another server"
            )

    def public(self, kinds: Iterable[Kind] = ("multiple_choice",)) -> dict[str, Any]:
        """What results should say about the judge: whatever can change a verdict, and no secret.

        Args:
            kinds: what is judged; the version of each one's prompt is told, that for multiple choice as `prompt`, the
                others under `prompts`.

        Raises:
            AudioTasksError: a prompt file cannot be used.
        """
        if self.mode == "rule":
            return {"mode": "rule"}
        from lmms_audio_tasks.judge.prompt import MULTIPLE_CHOICE, load_prompts

        versions = {kind: prompt.version for kind, prompt in load_prompts(self.prompt, sorted(set(kinds))).items()}
        told: dict[str, Any] = {"prompt": versions.pop(MULTIPLE_CHOICE)} if MULTIPLE_CHOICE in versions else {}
        return {
            "mode": self.mode,
            "model": self.model,
            "base_url": clean_url(self.base_url),
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": self.max_tokens,
            **told,
            **({"prompts": versions} if versions else {}),
        }


_RANGES: tuple[tuple[str, float, float], ...] = (
    ("temperature", 0, 2),
    ("top_p", 0, 1),
    ("max_tokens", 1, 1_000_000),
    ("concurrency", 1, 1000),
    ("timeout", 0.001, 86_400),
    ("max_retries", 0, 1000),
    ("give_up_after", 1, 1_000_000),
    ("input_price", 0, 1e9),
    ("output_price", 0, 1e9),
)

_READERS: dict[str, Callable[[str], Any]] = {
    "mode": str,
    "model": str,
    "base_url": str,
    "temperature": float,
    "top_p": float,
    "max_tokens": int,
    "concurrency": int,
    "timeout": float,
    "max_retries": int,
    "give_up_after": int,
    "prompt": lambda text: Path(text).expanduser(),
    "cache": lambda text: Path(text).expanduser(),
    "input_price": float,
    "output_price": float,
}


def _read(variable: str, text: str, read: Callable[[str], Any]) -> Any:
    try:
        return read(text)
    except ValueError:
        kind = "a whole number" if read is int else "a number"
        raise AudioTasksError(f"{variable} must be {kind}, not {text!r}") from None


def clean_url(url: str) -> str:
    """`url` without user, password, query and fragment, any of which may be a secret.

    Raises:
        AudioTasksError: not an http or https URL with a host; the URL itself is not quoted, as it may hold a secret.
    """
    parts = url_parts(url, "the judge's base URL", AudioTasksError)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"
