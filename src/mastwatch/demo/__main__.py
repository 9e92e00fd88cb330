"""``python -m mastwatch.demo``."""

import sys

from mastwatch.demo.main import run

sys.exit(run())
