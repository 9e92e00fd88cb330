"""The report as tables for people: Markdown, and the same in plain columns for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Row: TypeAlias = Mapping[str, Any]
Cell: TypeAlias = Callable[[Row], str]


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the report.

    Attributes:
        title: Its heading.
        note: What a reader must know; may be empty.
        head: Column headings.
        rows: The cells.
    """

    title: str
    note: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]


def markdown(tables: Sequence[Table], title: str) -> str:
    """The tables as one Markdown document."""
    lines = [f"# {title}", ""]
    for table in tables:
        lines += [f"## {table.title}", ""]
        lines += [table.note, ""] if table.note else []
        lines.append(_line(table.head))
        lines.append(_line(["---"] * len(table.head)))
        lines += [_line([cell.replace("|", "\\|") for cell in row]) for row in table.rows]
        lines.append("")
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def text(tables: Sequence[Table], bold: bool = False) -> Iterator[str]:
    """The tables in columns, line by line."""
    for table in tables:
        yield f"\x1b[1m{table.title}\x1b[0m" if bold else table.title
        if table.note:
            yield f"  {table.note}"
        everything = [table.head, *table.rows]
        widths = [max(len(row[i]) for row in everything) for i in range(len(table.head))]
        for row in everything:
            cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
            yield f"  {'  '.join(cells)}".rstrip()
        yield ""


def build(title: str, note: str, rows: Sequence[Row], columns: Mapping[str, Cell]) -> Table:
    """A table of rows, by heading and what stands below it."""
    cells = [tuple(cell(row) for cell in columns.values()) for row in rows]
    return Table(title, note, tuple(columns), cells)


def plain(key: str) -> Cell:
    """A column that shows a value as it is."""
    return lambda row: _shown(row.get(key))


def number(key: str, digits: int = 2) -> Cell:
    """A column of rounded numbers; ``-`` where there is none."""

    def cell(row: Row) -> str:
        value = row.get(key)
        return "-" if value is None else f"{value:.{digits}f}"

    return cell


def spread(low: str, high: str, digits: int = 2) -> Cell:
    """A column of intervals."""

    def cell(row: Row) -> str:
        ends = row.get(low), row.get(high)
        if ends[0] is None or ends[1] is None:
            return "-"
        return f"{ends[0]:.{digits}f} to {ends[1]:.{digits}f}"

    return cell


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
