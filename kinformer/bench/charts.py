"""Charts of benchmark results: one SVG file for each table, drawn by pygal (the extra ``bench``)."""

from __future__ import annotations

import importlib
import math
import re
import sys
from pathlib import Path
from typing import Any

from kinformer.bench.results import BenchError, Row, Table

__all__ = ("draw", "need_charts")

_WIDTH = 900
_BAR = 26
_FRONT_WIDTH = 660
_FRONT_BAR = 34
_REST = 110
_LEGEND = 40
#: Light colours: a black number on them can be read.
_COLORS = ("#8fb8de", "#f2c48d", "#a8d5a2")
#: Above this ratio of the largest figure to the smallest, the axis is logarithmic: a linear one shows only the largest.
_WIDE = 50
#: pygal writes the chart's options into the file, for a script of a web page. A picture needs neither.
#: Its comments have the date of drawing.
_SURPLUS = re.compile(r"<script.*?</script>|<!--.*?-->", re.DOTALL)


def need_charts() -> None:
    """
    Check that charts can be drawn.

    :raises BenchError: if pygal is not installed
    """
    _pygal()


def draw(name: str, table: Table, folder: Path, *, is_front: bool = False) -> Path | None:
    """
    Draw a table's chart.

    :param name: the name of the table, and of the file
    :param table: the table
    :param folder: where to write the file; it is made if it does not exist
    :param is_front: whether it is for a first page, on any screen: a smaller picture with larger text, its
        numbers beside the bars, and no logarithmic axis, on which figures that are far apart look alike
    :return: the file; None if no row has a figure to draw
    :raises BenchError: if pygal is not installed
    :raises OSError: if the file cannot be written
    """
    pygal = _pygal()
    rows = [row for row in table.rows if any(table.figure(row.label, figure) is not None for figure in table.chart)]
    if not rows:
        return None
    values = {figure: [table.figure(row.label, figure) for row in rows] for figure in table.chart}
    positive = [value for series in values.values() for value in series if value]
    is_wide = not is_front and len(positive) > 1 and max(positive) / min(positive) > _WIDE
    chart = pygal.HorizontalBar(
        style=importlib.import_module("pygal.style").CleanStyle(
            font_family="sans-serif",
            background="white",
            plot_background="white",
            value_font_size=12,
            label_font_size=18 if is_front else 10,
            title_font_size=19 if is_front else 16,
            guide_stroke_color="#ddd",
            major_guide_stroke_color="#ddd",
            opacity="1",
            colors=_COLORS,
        ),
        width=_FRONT_WIDTH if is_front else _WIDTH,
        height=_REST
        + (_FRONT_BAR if is_front else _BAR) * len(rows) * len(values)
        + (_LEGEND if len(values) > 1 else 0),
        explicit_size=True,
        show_legend=len(values) > 1,
        legend_at_bottom=True,
        legend_at_bottom_columns=len(values),
        print_values=not is_front,
        show_x_labels=not is_front,
        truncate_label=-1,
        truncate_legend=-1,
        logarithmic=is_wide,
        value_formatter=lambda value: f"{value:,.10g}",
        disable_xml_declaration=True,
        js=[],
    )
    chart.title = f"{table.title}\n{', '.join(table.chart)}: {'less' if table.lower_is_better else 'more'} is better"
    # By default pygal makes a new id each time. With this one, the same results give the same file.
    chart.uuid = name
    if is_wide:
        # The axis begins below the smallest figure, which has no bar otherwise. It has numbers at powers of ten only.
        least = math.floor(math.log10(min(positive) / 2))
        chart.zero = 10.0**least
        chart.range = (chart.zero, max(positive))
        chart.y_labels = [10.0**power for power in range(least, math.floor(math.log10(max(positive))) + 1)]
    # pygal draws the rows from the bottom upwards.
    chart.x_labels = [_front_label(table, row) if is_front else row.label for row in reversed(rows)]
    for figure, series in values.items():
        chart.add(figure, series[::-1])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.svg"
    path.write_text(_SURPLUS.sub("", chart.render(is_unicode=True)) + "\n", encoding="utf-8")
    return path


def _front_label(table: Table, row: Row) -> str:
    """The name alone, and the figure: a number on a short bar cannot be read."""
    value = table.figure(row.label, table.chart[0])
    return f"{row.label.partition(':')[0]}: {value:,.10g}"


def _pygal() -> Any:
    try:
        pygal = importlib.import_module("pygal")
    except ImportError as error:
        raise BenchError("charts are drawn by pygal, which is not installed: pip install 'kinformer[bench]'") from error
    # pygal adds an importer for its map plug-ins, which are not used here. The importer has only the method that
    # Python 2 asked for, so Python 3.11 warns of it at each import that fails. It is removed.
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "PluginImportFixer"]
    return pygal
