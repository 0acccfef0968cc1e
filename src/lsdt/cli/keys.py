"""``lsdt keys``: keys that let callers use the service."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lsdt.errors import StoreLocked

if TYPE_CHECKING:
    import argparse

CLOSED = (
    "all keys were removed, so no caller is let in: add a key (lsdt keys add --role admin), or serve this "
    "machine without keys again (lsdt keys open)"
)
_DESCRIPTION = """\
Add, list and remove keys of the decision service. They are kept in its store, each only as a hash.

The first key permanently closes the service to callers without one: after the last key is removed, no caller
is let in. 'lsdt keys open', on the store of a stopped service, lets callers on its own machine in without
keys again.

While a service runs on an SQLite store, only the service may write to it: give its address with --service,
and an admin key in the environment variable LSDT_KEY unless there are no keys yet."""

_EPILOG = """\
examples:
  lsdt keys add --role admin
  lsdt keys add --role decide --experiment drinks --service http://127.0.0.1:8900
  lsdt keys add --role operate --name alice
  lsdt keys list --json
  lsdt keys remove 3f9c01ab77de
  lsdt keys open

exit codes: 0 done, 2 bad argument, 3 bad store, 8 a package is missing, 10 the store failed,
11 a service writes to the store, 70 an error of lsdt itself"""


def add_to(commands: Any, name: str) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        name,
        help="add, list and remove keys of the service",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument("action", choices=("add", "list", "remove", "open"), help="what to do")
    parser.add_argument("id", nargs="?", metavar="ID", help="the key to remove, as list shows it")
    parser.add_argument("--role", metavar="ROLE", help="add: read, decide, operate or admin")
    parser.add_argument("--name", default="", metavar="NAME", help="add: whose it is, for the log of actions")
    parser.add_argument(
        "--experiment", metavar="NAME", help="add: the only experiment that the key gives access to"
    )
    parser.add_argument("--rate", type=float, metavar="N", help="add: largest number of requests per second")
    parser.add_argument("--store", default="sqlite:///lsdt.db", metavar="URL", help="the store (%(default)s)")
    parser.add_argument(
        "--service", metavar="URL", help="the address of a running service, instead of its store"
    )
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from lsdt._validation import checked_word
    from lsdt.errors import InvalidInput

    if options.action == "add":
        if options.role is None:
            raise InvalidInput("say what the key may do: --role read, decide, operate or admin")
        checked_word(options.role, "role", ("read", "decide", "operate", "admin"))
    if (options.action == "remove") != (options.id is not None):
        raise InvalidInput(
            "remove takes the id of a key, as 'lsdt keys list' shows it; add, list and open take no id"
        )
    if options.action == "open" and options.service:
        raise InvalidInput("open works on the store itself: stop the service, and give --store instead")
    answer = _over_http(options) if options.service else _in_store(options)
    if options.json:
        print(json.dumps(answer, indent=2))
    elif options.action == "add":
        print(answer["key"])
    elif options.action == "remove":
        print(f"removed {options.id}")
        if answer.get("left") == 0:
            print(CLOSED)
    elif options.action == "open":
        print("callers on the service's own machine need no key, until the first one is added")
    else:
        _print_table(answer["keys"], answer.get("is_open", True))


def _in_store(options: argparse.Namespace) -> dict[str, Any]:
    from lsdt.service import KeyRing, add_key, open_again, remove_key
    from lsdt.storage import open_store

    try:
        with open_store(options.store, read_only=options.action == "list") as store:
            if options.action == "add":
                given = options.role, options.experiment, options.rate, options.name
                text, key = add_key(store, *given)
                known = {"role": key.role, "experiment": key.experiment, "name": key.name}
                return {"id": key.id, "key": text, **known}
            if options.action == "remove":
                remove_key(store, options.id)
                return {"done": True, "left": len(KeyRing(store))}
            if options.action == "open":
                open_again(store)
                return {"done": True}
            ring = KeyRing(store)
            listed = [key._asdict() | {"created": key.created / 1e6} for key in ring.all()]
            hidden = ("digest", "experiment_created")
            rows = [{word: key[word] for word in key if word not in hidden} for key in listed]
            return {"keys": rows, "is_open": ring.is_open}
    except StoreLocked as error:
        raise StoreLocked(f"{error}; a running service takes keys with --service http://HOST:PORT") from None


def _over_http(options: argparse.Namespace) -> dict[str, Any]:
    from lsdt.service import Client

    with Client(options.service, os.environ.get("LSDT_KEY")) as client:
        if options.action == "add":
            return client.add_key(options.role, options.experiment, options.rate, options.name)
        if options.action == "remove":
            client.remove_key(options.id)
            return {"done": True}
        return {"keys": client.keys()}


def _print_table(keys: list[dict[str, Any]], is_open: bool) -> None:
    if not keys:
        print("there are no keys: only the service's own machine is served" if is_open else CLOSED)
    for key in keys:
        made = datetime.fromtimestamp(key["created"], UTC).strftime("%Y-%m-%d %H:%M")
        limit = f"  {key['rate']:g} per second" if key["rate"] else ""
        name = f"  {key['name']}" if key["name"] else ""
        print(f"{key['id']}  {key['role']:<7}  {key['experiment'] or 'all experiments'}  {made}{limit}{name}")
