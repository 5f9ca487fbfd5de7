"""Models this plugin adds to the host's registry, by the name that `--model` takes. Light to import."""

MANIFESTS: tuple[tuple[str, str], ...] = (
    ("chance", "lmms_audio_tasks.models.chance.Chance"),
    ("replay", "lmms_audio_tasks.models.replay.Replay"),
    ("cascade", "lmms_audio_tasks.models.cascade.Cascade"),
    ("audio_lm", "lmms_audio_tasks.models.audio_lm.AudioLM"),
    ("openai_audio", "lmms_audio_tasks.models.openai_audio.OpenAIAudio"),
)
"""Name and class path; all are of the host's chat kind."""
