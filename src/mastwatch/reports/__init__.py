"""Reports as people read them: JSON, Markdown, and pages that open in any browser."""

from mastwatch.reports.cases import Case, case
from mastwatch.reports.files import file_stem, write_report, write_summary
from mastwatch.reports.html import run_page, summary_page
from mastwatch.reports.json import (
    attribution_dict,
    attribution_line,
    attribution_schema,
    report_dict,
    report_document,
    report_line,
    report_schema,
)
from mastwatch.reports.markdown import markdown
from mastwatch.reports.summary import Summary, summarise, summary_dict, summary_document

__all__ = [
    "Case",
    "Summary",
    "attribution_dict",
    "attribution_line",
    "attribution_schema",
    "case",
    "file_stem",
    "markdown",
    "report_dict",
    "report_document",
    "report_line",
    "report_schema",
    "run_page",
    "summarise",
    "summary_dict",
    "summary_document",
    "summary_page",
    "write_report",
    "write_summary",
]
