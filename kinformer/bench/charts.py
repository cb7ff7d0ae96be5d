"""Charts of results, one SVG for each table, drawn by pygal (the extra ``bench``)."""

from __future__ import annotations

import importlib
import math
import re
import sys
from pathlib import Path
from typing import Any

from kinformer.bench.results import BenchError, Table

__all__ = ("draw", "need_charts")

_WIDTH = 900
_BAR = 26
_REST = 110
_LEGEND = 40
#: Light enough for a black number on them.
_COLORS = ("#8fb8de", "#f2c48d", "#a8d5a2")
#: From this ratio of the largest to the smallest figure on, a linear axis shows only the largest.
_WIDE = 50
#: pygal puts the chart's options into it for a script in a page. A picture has no use for either.
_SCRIPT = re.compile(r"<script.*?</script>", re.DOTALL)


def need_charts() -> None:
    """
    :raises BenchError: if charts cannot be drawn here
    """
    _pygal()


def draw(name: str, table: Table, folder: Path) -> Path | None:
    """
    Draw a table's chart.

    :return: the file, None where there is nothing to be drawn
    :raises BenchError: if charts cannot be drawn here
    :raises OSError: if it cannot be written
    """
    pygal = _pygal()
    rows = [row for row in table.rows if any(table.figure(row.label, figure) is not None for figure in table.chart)]
    if not rows:
        return None
    values = {figure: [table.figure(row.label, figure) for row in rows] for figure in table.chart}
    positive = [value for series in values.values() for value in series if value]
    is_wide = len(positive) > 1 and max(positive) / min(positive) > _WIDE
    chart = pygal.HorizontalBar(
        style=importlib.import_module("pygal.style").CleanStyle(
            font_family="sans-serif",
            background="white",
            plot_background="white",
            value_font_size=12,
            guide_stroke_color="#ddd",
            major_guide_stroke_color="#ddd",
            opacity="1",
            colors=_COLORS,
        ),
        width=_WIDTH,
        height=_REST + _BAR * len(rows) * len(values) + (_LEGEND if len(values) > 1 else 0),
        explicit_size=True,
        show_legend=len(values) > 1,
        legend_at_bottom=True,
        legend_at_bottom_columns=len(values),
        print_values=True,
        truncate_label=-1,
        truncate_legend=-1,
        logarithmic=is_wide,
        value_formatter=lambda value: f"{value:,.10g}",
        disable_xml_declaration=True,
        js=[],
    )
    chart.title = f"{table.title}\n{', '.join(table.chart)}: {'less' if table.lower_is_better else 'more'} is better"
    # Otherwise a new one each time, and with it another file.
    chart.uuid = name
    if is_wide:
        # From below the smallest, which would have no bar otherwise, and a number at powers of ten only.
        least = math.floor(math.log10(min(positive) / 2))
        chart.zero = 10.0**least
        chart.range = (chart.zero, max(positive))
        chart.y_labels = [10.0**power for power in range(least, math.floor(math.log10(max(positive))) + 1)]
    # It draws upwards from the bottom.
    chart.x_labels = [row.label for row in reversed(rows)]
    for figure, series in values.items():
        chart.add(figure, series[::-1])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.svg"
    path.write_text(_SCRIPT.sub("", chart.render(is_unicode=True)) + "\n", encoding="utf-8")
    return path


def _pygal() -> Any:
    try:
        pygal = importlib.import_module("pygal")
    except ImportError as error:
        raise BenchError("charts are drawn by pygal, which is not installed: pip install 'kinformer[bench]'") from error
    # For its plug-ins of maps, of which none is used here, pygal leaves an importer that knows only what Python 2 asked
    # for. Python 3.11 warns of it at each import that fails.
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "PluginImportFixer"]
    return pygal
