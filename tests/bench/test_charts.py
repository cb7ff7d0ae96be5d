from __future__ import annotations

import sys

from kinformer.bench.charts import need_charts


def test_drawing_charts_leaves_pythons_imports_as_they_are() -> None:
    need_charts()

    assert all(hasattr(finder, "find_spec") for finder in sys.meta_path)
