"""Audio benchmarks for lmms-eval: SAKURA, ART, C3T and HAVE-Bench."""

__version__ = "0.1.0"
