"""One module a family of cases: ``answer(case)`` gives for a case's ``in`` what is compared with its ``want``.

``answer`` may be a coroutine function. A family whose answers are not compared as plain JSON also has
``same(got, want) -> bool``.
"""
