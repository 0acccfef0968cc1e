"""Run a command beside a service, whose address it finds in the environment variable LSDT."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from lsdt.service.server import in_background

with tempfile.TemporaryDirectory() as folder, in_background(f"sqlite:///{folder}/lsdt.db") as url:
    code = subprocess.run(sys.argv[1:], env={**os.environ, "LSDT": url}, check=False).returncode
sys.exit(code)
