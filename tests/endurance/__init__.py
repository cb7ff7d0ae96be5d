"""Real processes for a long time: ``python -m tests.endurance``, or ``make endurance``."""
