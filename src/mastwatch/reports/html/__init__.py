"""Pages that open in any browser, from a file, without a server."""

from mastwatch.reports.html.overview import summary_page
from mastwatch.reports.html.page import run_page

__all__ = ["run_page", "summary_page"]
