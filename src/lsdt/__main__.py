"""``python -m lsdt``: the command line, also where the script ``lsdt`` is not on the path."""

import sys

from lsdt.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
