"""The files to copy: what they run is there, and as strict as they say.

Their steps were taken by hand: in an empty root that is read-only but for the volume, as a user without
rights, the container's commands make a key, serve, decide and end with exit code 0; `systemd-analyze verify`
has no objection to the unit.
"""

from __future__ import annotations

import json
import re
import shlex
from configparser import ConfigParser
from pathlib import Path

import pytest

from lsdt.cli.main import build_parser

DEPLOY = Path(__file__).parent.parent.parent / "docs" / "deploy"
CONTAINER = (DEPLOY / "Containerfile").read_text()
UNIT = ConfigParser(interpolation=None, strict=True)
UNIT.optionxform = str
UNIT.read(DEPLOY / "lsdt.service")


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


def test_a_container_starts_with_compiled_code_and_its_volume_holds_data_only():
    build, final = CONTAINER.split("\nFROM ")[-2:]
    folder = re.search(r"ENV NUMBA_CACHE_DIR=(\S+)", build)[1]
    assert "lsdt compile" in build
    assert f"NUMBA_CACHE_DIR={folder}" in final
    assert folder.startswith("/opt/lsdt/")  # copied from the stage that builds
    assert "COPY --from=build /opt/lsdt /opt/lsdt" in final
