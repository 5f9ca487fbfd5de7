"""The parts of :mod:`lmms_audio_tasks.options`; import from there.

A response goes through them in this order: ``text`` folds and undresses it, ``mentions`` finds where it names options
(by the ``lexicon`` of the question, its word ``forms`` and the company of ``letters``), ``runs`` reads what the words
around them say (the tables in ``cues``), and ``verdict`` decides, with ``partial`` for responses that name nothing
outright.
"""
