"""The TypeScript client has every call, field and error of the service; `make test-js` runs it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import lsdt
from lsdt import errors
from lsdt.service import messages
from lsdt.service.client import calls
from lsdt.service.event_log import as_row
from lsdt.service.openapi import description
from lsdt.storage import Kind, open_store

FOLDER = Path(__file__).parent.parent.parent / "clients" / "typescript"
CLIENT = (FOLDER / "lsdt.ts").read_text()
CLASS = CLIENT.partition("export class Lsdt extends")[2]


def fields_of(name):
    """Return the fields of an interface, and whether each may be missing."""
    body = re.search(rf"^export interface {name} {{\n(.*?)^}}", CLIENT, re.MULTILINE | re.DOTALL)[1]
    return {word: bool(mark) for word, mark in re.findall(r"^  (\w+)(\??):", body, re.MULTILINE)}


def test_the_client_is_what_the_script_makes():
    spec = importlib.util.spec_from_file_location("make_client", FOLDER / "make_client.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.made(CLIENT) == CLIENT, "run: python clients/typescript/make_client.py"


@pytest.mark.parametrize("name", sorted(description()["components"]["schemas"]))
def test_every_message_has_its_fields(name):
    struct = getattr(messages, name)
    assert list(fields_of(name)) == list(struct.__struct_fields__)


def test_every_call_is_sent_where_the_service_expects_it():
    for path, methods in description()["paths"].items():
        for method, call in methods.items():
            body = re.search(rf"^  {call['operationId']}\((.*?)^  }}", CLASS, re.MULTILINE | re.DOTALL)[1]
            assert f'method: "{method.upper()}", path: "{path}"' in body
            assert f"values: [{', '.join(re.findall(r'{(.*?)}', path))}]" in body or "{" not in path
            assert ("body: " in body) == ("requestBody" in call)
            if call["operationId"] != "createExperiment":
                words = {each["name"] for each in call.get("parameters", ()) if each["in"] == "query"}
                assert set(re.findall(r"(\w+)\?: ", body)) - {"options"} == words - {"format"}
    rows = re.findall(r'method: "(\w+)", path: "(\S+)".*?repeat: "(\w+)"', CLASS)
    repeats = {(method, path): word for method, path, word in rows}
    table = [each for each in vars(calls).values() if isinstance(each, calls.Call)]
    assert all(repeats[each.method, each.path] == each.repeat for each in table)


def test_every_error_of_python_is_there_with_its_base():
    for each in vars(errors).values():
        if isinstance(each, type) and issubclass(each, errors.LsdtError) and each is not errors.LsdtError:
            assert f"export class {each.__name__} extends {each.__mro__[1].__name__} {{" in CLIENT


def test_events_of_the_log_have_their_fields():
    with open_store("memory://") as store, lsdt.Agent.open(store, "a", side=lsdt.SideInformation(2)) as agent:
        agent.ask()
        (batch,) = store.read("a")
        ask = next(entry for entry in batch if entry.kind == Kind.ASK)
        assert list(fields_of("LogEvent")) == list(as_row(ask, agent.side))
