"""The test suites of other projects, run against the embedded server: ``make compat``."""
