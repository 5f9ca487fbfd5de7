"""`python -m lmms_audio_tasks ...` is `lmms_eval ...`: what `accelerate launch -m` and `torchrun -m` need."""

import sys

from lmms_audio_tasks.cli import lmms_eval

if __name__ == "__main__":
    sys.exit(lmms_eval())
