from __future__ import annotations

import subprocess
import sys
import textwrap

from systems import needs_signals


@needs_signals
def test_a_signal_before_the_first_request_ends_the_service(tmp_path):
    """It comes as soon as the service says that it is ready, when uvicorn does not listen to signals yet."""
    code = """
        import os, signal, sys
        from lsdt.service.server import serve
        from lsdt.service.settings import Settings
        serve(Settings(sys.argv[1]), port=0, ready=lambda *_: os.kill(os.getpid(), signal.SIGTERM))
        print("ended")
    """
    command = [sys.executable, "-c", textwrap.dedent(code), f"sqlite:///{tmp_path}/lsdt.db"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "ended"
