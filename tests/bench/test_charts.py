from __future__ import annotations

import sys

from kinformer.bench.charts import need_charts


def test_drawing_charts_leaves_pythons_imports_as_they_are() -> None:
    before = list(sys.meta_path)

    need_charts()

    assert sys.meta_path == before
