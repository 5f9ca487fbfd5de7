"""Models this plugin adds to the host's registry, by the name that `--model` takes. Light to import."""

MANIFESTS: tuple[tuple[str, str], ...] = (
    ("chance", "lmms_audio_tasks.models.chance.Chance"),
    ("cascade", "lmms_audio_tasks.models.cascade.Cascade"),
)
"""Name and class path; all are of the host's chat kind."""
