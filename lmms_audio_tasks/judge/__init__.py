"""Judging responses by rule, by a language model, or by both; no benchmark's own knowledge is in here."""
