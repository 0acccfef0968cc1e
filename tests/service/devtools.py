"""A browser without a screen that a test talks to, over a pipe."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time

from browsers import browser


class Browser:
    """One page of Chromium: open an address, evaluate expressions, hear what the console says."""

    def __init__(self, profile, width=1240):
        here_in, there_out = os.pipe()
        there_in, here_out = os.pipe()
        flags = (
            "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
            f"--remote-debugging-pipe --window-size={width},1500"
        )
        script = f'exec "$0" {flags} "--user-data-dir=$1" 3<&{there_in} 4>&{there_out} 2>/dev/null'
        self.process = subprocess.Popen(
            ["bash", "-c", script, browser(), str(profile)], pass_fds=(there_in, there_out)
        )
        os.close(there_in)
        os.close(there_out)
        self._in, self._out, self._rest, self._number = here_in, here_out, b"", 0
        self.session, self.problems = None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        limit = time.monotonic() + 60
        while time.monotonic() < limit:
            answer = self._receive(limit)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
        raise TimeoutError(method)

    def _receive(self, limit):
        while b"\0" not in self._rest:
            if not select.select([self._in], [], [], max(0.0, limit - time.monotonic()))[0]:
                raise TimeoutError("the browser says nothing")
            self._rest += os.read(self._in, 1 << 20)
        line, _, self._rest = self._rest.partition(b"\0")
        answer = json.loads(line)
        method, told = answer.get("method"), answer.get("params", {})
        if method == "Runtime.exceptionThrown" or (
            method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning")
        ):
            self.problems.append(told)
        if method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.problems.append(told)
        return answer

    def evaluate(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def type(self, text):
        """Enter text where the focus is."""
        self.call("Input.insertText", text=text)

    def press(self, key):
        """Press a key."""
        text = {"text": "\r"} if key == "Enter" else {}
        code = {"Enter": 13, "Tab": 9}[key]
        for kind in ("keyDown", "keyUp"):
            about = {"key": key, "code": key, "windowsVirtualKeyCode": code, **text}
            self.call("Input.dispatchKeyEvent", type=kind, **about)

    def open(self, url):
        self.call("Page.navigate", url=url)

    def wait(self, expression, seconds=40):
        """Wait until an expression is true."""
        limit = time.monotonic() + seconds
        while not self.evaluate(expression):
            assert time.monotonic() < limit, f"{expression} stays false"
            time.sleep(0.1)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self._in)
        os.close(self._out)
