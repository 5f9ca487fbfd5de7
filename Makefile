# What continuous integration does, step by step; needs `pip install -e '.[dev]'`.
.PHONY: lint typecheck test check

lint:
	ruff check .
	ruff format --check .

typecheck:
	mypy

test:
	python -m pytest

check: lint typecheck test
