"""Fuzzers of the embedded API server, from one seed each: ``python -m tests.fuzz --help``."""
