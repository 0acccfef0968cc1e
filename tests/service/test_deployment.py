"""The files to copy: what they run is there, and as strict as they say.

Their steps were taken by hand: in an empty root that is read-only but for the volume, as a user without
rights, the container's commands make a key, serve, decide and end with exit code 0; `systemd-analyze verify`
has no objection to the unit.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import time
from configparser import ConfigParser
from pathlib import Path

import httpx
import pytest

from lsdt.cli.main import build_parser
from lsdt.service.server import in_background

DEPLOY = Path(__file__).parent.parent.parent / "docs" / "deploy"
CONTAINER = (DEPLOY / "Containerfile").read_text()
UNIT = ConfigParser(interpolation=None, strict=True)
UNIT.optionxform = str
UNIT.read(DEPLOY / "lsdt.service")


BOARD = json.loads((DEPLOY / "grafana.json").read_text())
ALERTS = (DEPLOY / "alerts.yml").read_text()


def commands():
    """Return the commands of lsdt in the files, as words."""
    yield json.loads(re.search(r"^CMD (\[.*\])$", CONTAINER, re.MULTILINE)[1])
    yield shlex.split(UNIT["Service"]["ExecStart"])
    for line in re.findall(r"podman run .* lsdt (lsdt .*)", CONTAINER):
        yield shlex.split(line)


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_commands_are_ones_that_there_are(words):
    assert Path(words[0]).name == "lsdt"
    options = build_parser().parse_args(words[1:])
    assert callable(options.run)


def test_both_write_nowhere_but_to_their_volume():
    state = "/var/lib/lsdt"
    store = f"sqlite:///{state}/lsdt.db"
    service = UNIT["Service"]
    for text in (CONTAINER, service["ExecStart"]):
        assert store in text
    for text in (CONTAINER, service["Environment"]):
        assert "PYTHONDONTWRITEBYTECODE=1" in text
    assert f"NUMBA_CACHE_DIR={state}/" in service["Environment"]
    assert service["DynamicUser"] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["StateDirectory"] == "lsdt"
    assert service["UMask"] == "0077"  # the store holds the key behind the ids of decisions
    assert "MemoryDenyWriteExecute" not in service  # policies are compiled
    stages = CONTAINER.split("\nFROM ")
    assert stages[-1].index("USER lsdt") < stages[-1].index("CMD ")
    assert f"VOLUME {state}" in stages[-1]


@pytest.fixture(scope="module")
def metrics(tmp_path_factory):
    """What a service tells Prometheus that has everything: in a file, with plays, a webhook and a result."""
    store = f"sqlite:///{tmp_path_factory.mktemp('metrics')}/lsdt.db"
    with (
        in_background(store, webhook_origins=["http://127.0.0.1:9"]) as url,
        httpx.Client(base_url=url, timeout=60.0) as http,
    ):
        drinks = {
            "name": "drinks",
            "arms": ["tea", "coffee"],
            "better": [["tea", "coffee"]],
            "policy": "ucb1",
        }
        assert http.post("/v1/experiments", json=drinks | {"epsilon": 0.1}).status_code == 201
        assert http.post("/v1/webhooks", json={"url": "http://127.0.0.1:9"}).status_code == 201
        http.post("/v1/experiments/drinks/observe", json={"arm": "tea", "reward": 1})
        limit = time.monotonic() + 60.0
        while "lsdt_stopping_reached{" not in (text := http.get("/metrics").text):  # computed in a thread
            assert time.monotonic() < limit
            time.sleep(0.05)
    return text


def queries():
    """Return the queries of the board and of the alerts."""
    board = [target["expr"] for panel in BOARD["panels"] for target in panel.get("targets", ())]
    board += [each["query"]["query"] for each in BOARD["templating"]["list"] if each["type"] == "query"]
    alerts = re.findall(r"^ +expr: (?:\|\n)?((?:.|\n)*?)\n        (?=labels|for)", ALERTS, re.MULTILINE)
    assert len(alerts) == ALERTS.count("alert: ")
    return board + alerts


def test_every_query_of_the_board_and_the_alerts_names_metrics_and_labels_that_there_are(metrics):
    samples = [line for line in metrics.splitlines() if not line.startswith("#")]
    labels = {}
    for line in samples:
        name = re.match(r"\w+", line)[0]
        labels.setdefault(name, set()).update(re.findall(r'(\w+)="', line))
    used = set()
    for query in queries():
        for name, selector in re.findall(r"\b((?:lsdt|up)\w*)(?:{(.*?)})?", re.sub('job="lsdt"', "", query)):
            if name == "up":
                continue
            used.add(name)
            assert name in labels, query
            asked = set(re.findall(r"(\w+)(?:=~|!=|!~|=)", selector)) - {"instance", "job"}
            assert asked <= labels[name], query
    told = {
        re.sub(r"_(bucket|sum|count)$", "", name) if "commit_seconds" in name else name for name in labels
    }
    used = {re.sub(r"_(bucket|sum|count)$", "", name) if "commit_seconds" in name else name for name in used}
    assert told - used == {"lsdt_webhook_postponed_total"}  # nothing is measured that nobody sees
    legends = {word for panel in BOARD["panels"] for target in panel.get("targets", ())
               for word in re.findall(r"{{(\w+)}}", target["legendFormat"])}  # fmt: skip
    assert legends <= set().union(*labels.values())


def test_the_panels_of_the_board_do_not_overlap():
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert len(set(ids)) == len(ids)
    taken = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool, of Prometheus")
def test_prometheus_accepts_alerts_and_metrics(metrics):
    for words, text in ((["rules", str(DEPLOY / "alerts.yml")], ""), (["metrics"], metrics)):
        done = subprocess.run(["promtool", "check", *words], input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_container_starts_with_compiled_code_and_its_volume_holds_data_only():
    build, final = CONTAINER.split("\nFROM ")[-2:]
    folder = re.search(r"ENV NUMBA_CACHE_DIR=(\S+)", build)[1]
    assert "lsdt compile" in build
    assert f"NUMBA_CACHE_DIR={folder}" in final
    assert folder.startswith("/opt/lsdt/")  # copied from the stage that builds
    assert "COPY --from=build /opt/lsdt /opt/lsdt" in final
