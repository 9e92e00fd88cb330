"""``python -m mastwatch``."""

import sys

from mastwatch.cli import main

sys.exit(main())
