"""An example of a model class of your own, `--model pitch`. This module must import nothing of lmms-eval itself."""


def register() -> list:
    """The models of this package, for the entry point group `lmms_eval.models`."""
    from lmms_eval.models.registry_v2 import ModelManifest

    return [ModelManifest(model_id="pitch", chat_class_path="lmms_audio_example_model.model.Pitch")]
