"""Compare texts with a model behind an OpenAI-compatible endpoint, and keep those that may be the best.

    python prompt_judge.py prompts.json --url http://localhost:8000/v1 --model my-model --calls 300

`prompts.json` maps ids to texts. The key is read from the environment variable OPENAI_API_KEY, if it is set.
Only the standard library is needed, so any server with a `chat/completions` route will do.
"""

from __future__ import annotations

import argparse
import json
import os
import urllib.request
from pathlib import Path

import lsdt

QUESTION = """Which of two prompts will make an assistant solve more tasks of this kind?

First prompt:
{first}

Second prompt:
{second}

Answer with one word: first, second or equal."""
WORDS = {"first": "better", "second": "worse", "equal": "equal"}


def make_judge(url: str, model: str, texts: dict[str, str]):
    """Return a function that asks the model about two ids; None if it does not answer as asked."""

    def judge(a: str, b: str) -> str | None:
        asked = QUESTION.format(first=texts[a], second=texts[b])
        body = {"model": model, "messages": [{"role": "user", "content": asked}], "temperature": 0}
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get("OPENAI_API_KEY"):
            headers["Authorization"] = f"Bearer {key}"
        data = json.dumps(body).encode()
        request = urllib.request.Request(f"{url.rstrip('/')}/chat/completions", data, headers)
        with urllib.request.urlopen(request, timeout=60) as response:
            said = json.load(response)["choices"][0]["message"]["content"]
        return WORDS.get(said.strip().strip(".").lower())

    return judge


def main(words: list[str] | None = None) -> None:
    """Ask, and print the prompts that are left."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prompts")
    parser.add_argument("--url", default="https://api.openai.com/v1")
    parser.add_argument("--model", required=True)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--log", default="answers.csv")
    options = parser.parse_args(words)
    texts = json.loads(Path(options.prompts).read_text(encoding="utf-8"))
    inquiry = lsdt.Inquiry(lsdt.SideInformation(len(texts), arm_ids=list(texts)), answers="better")
    judge = make_judge(options.url, options.model, texts)
    found = inquiry.run(judge, jobs=options.jobs, calls=options.calls, log=options.log)
    n_answers, probability = inquiry.n_answers, found.probability
    print(f"{n_answers} answers; the best prompt is among these with probability {probability:.2f}:")
    for arm, chance in zip(found.arm_ids, found.chances, strict=True):
        print(f"  {arm}: {chance:.2f}")
    if inquiry.judge.is_biased:
        place = "first" if inquiry.judge.position > 0 else "second"
        print(f"the model prefers what comes {place}, which is allowed for")


if __name__ == "__main__":
    main()
