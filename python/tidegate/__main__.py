"""`python -m tidegate` is the command `tidegate`."""

import sys

from tidegate._command import main

sys.exit(main())
