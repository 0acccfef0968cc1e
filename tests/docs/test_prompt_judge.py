"""The script that asks a model behind an OpenAI-compatible endpoint, against a stub of one."""

from __future__ import annotations

import importlib.util
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "guides" / "scripts" / "prompt_judge.py"


class _Model(BaseHTTPRequestHandler):
    """Prefers the prompt with the larger number in it; answers in other words about one of them."""

    asked: ClassVar[list[dict]] = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({"path": self.path, "key": self.headers.get("Authorization"), **body})
        first, second = map(int, re.findall(r"number (\d+)", body["messages"][0]["content"]))
        said = "First." if first > second else "second"
        if {first, second} == {0, 1}:
            said = "I cannot say."
        answer = json.dumps({"choices": [{"message": {"role": "assistant", "content": said}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture
def url():
    _Model.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Model)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_the_script_finds_the_best_prompt_and_goes_on(url, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    spec = importlib.util.spec_from_file_location("prompt_judge", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    prompts, log = tmp_path / "prompts.json", tmp_path / "answers.csv"
    prompts.write_text(json.dumps({f"p{number}": f"number {number}" for number in range(8)}))
    words = [str(prompts), "--url", url, "--model", "stub", "--log", str(log), "--jobs", "3"]
    script.main([*words, "--calls", "20"])
    n_first = len(_Model.asked)
    assert n_first == 20
    script.main([*words, "--calls", "20"])
    shown = capsys.readouterr().out
    assert "  p7: " in shown
    assert {(row["path"], row["key"], row["model"]) for row in _Model.asked} == {
        ("/v1/chat/completions", "Bearer secret", "stub")
    }
    questions = [row["messages"][0]["content"] for row in _Model.asked]
    unclear = sum({"number 0", "number 1"} <= set(re.findall(r"number \d", text)) for text in questions)
    assert len(log.read_text().splitlines()) - 1 == len(questions) - unclear
