"""``lsdt serve``: the decision service."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lsdt.cli.keys import CLOSED
from lsdt.errors import InvalidInput

if TYPE_CHECKING:
    import argparse

    from lsdt.service import Service

_DESCRIPTION = """\
Serve decisions over HTTP: agents that several processes share, in one durable store.

Without keys only callers on this machine are served. Everything that was answered is on disk; on SIGTERM or
Ctrl-C the service takes snapshots, loses nothing and ends with exit code 0."""

_EPILOG = """\
examples:
  lsdt serve
  lsdt serve --store sqlite:////var/lib/lsdt/lsdt.db --port 8900
  lsdt serve --store postgresql://lsdt@db.example.org/lsdt     (on as many machines as you like)
  lsdt keys add --role admin && lsdt serve --host 0.0.0.0
  lsdt serve --read-only --port 8901                           (beside the first, for an office screen)
  LSDT_WEBHOOK_SECRET=whsec_... lsdt serve --webhook https://hooks.example.com/lsdt

exit codes: 0 ended, 2 bad argument, 3 bad store, 8 a package is missing, 10 the store failed,
11 another process writes to the store, 70 an error of lsdt itself"""


def add_to(commands: Any, name: str) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        name,
        help="serve decisions over HTTP",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument(
        "--store", default="sqlite:///lsdt.db", metavar="URL", help="the store for all data (%(default)s)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (%(default)s)")
    parser.add_argument("--port", type=int, default=8900, help="the port; 0 is any free one (%(default)s)")
    parser.add_argument(
        "--durability",
        default="full",
        metavar="WORD",
        help="full (default): answers wait for the disk; process: they survive a crash of this process, but "
        "not of the machine",
    )
    parser.add_argument(
        "--rate",
        type=float,
        metavar="N",
        help="largest number of requests per second for a key without its own limit",
    )
    parser.add_argument(
        "--body-limit",
        type=int,
        default=64 * 2**20,
        metavar="BYTES",
        help="largest request body (%(default)s)",
    )
    parser.add_argument(
        "--most-waiting",
        type=int,
        default=10_000,
        metavar="N",
        help="requests that may wait for the store; more are answered with 429 (%(default)s)",
    )
    parser.add_argument(
        "--store-patience",
        type=float,
        metavar="SECONDS",
        help="how long another program may hold SQLite's write lock (default 60), or PostgreSQL may not "
        "answer (default 15), before the store fails",
    )
    parser.add_argument(
        "--cors",
        action="append",
        metavar="ORIGIN",
        help="a site whose pages may call, such as https://shop.example; may be repeated",
    )
    parser.add_argument(
        "--session-hours",
        type=float,
        default=12.0,
        metavar="HOURS",
        help="how long a browser stays signed in (%(default)s)",
    )
    parser.add_argument(
        "--read-only",
        action="store_true",
        help="only show what is in the store, even while another process writes to it: for an office screen",
    )
    parser.add_argument(
        "--metrics-arms",
        type=int,
        default=10,
        metavar="N",
        help="how many arms of an experiment have metrics, those with the most plays; the others are summed "
        "(%(default)s)",
    )
    parser.add_argument(
        "--webhook",
        action="append",
        metavar="URL",
        help="tell this URL when an experiment can be stopped, when something needs attention, and the like; "
        "signed with the secret in the environment variable LSDT_WEBHOOK_SECRET; may be repeated",
    )
    parser.add_argument(
        "--webhook-origin",
        action="append",
        metavar="ORIGIN",
        help="let holders of an admin key add webhooks at this origin, such as https://hooks.example.com; "
        "may be repeated",
    )
    parser.add_argument("--log-level", default="info", metavar="WORD", help="debug, info, warning or error")
    parser.set_defaults(run=run, keeps_a_log=True)


def run(options: argparse.Namespace) -> None:
    """Run the service until it is stopped."""
    if options.log_level not in ("debug", "info", "warning", "error"):
        raise InvalidInput(f"log_level must be debug, info, warning or error; got {options.log_level!r}")
    from lsdt.service import Settings, serve, start_log  # first: its error says which package is missing

    start_log(options.log_level)
    settings = Settings(
        store=options.store,
        durability=options.durability,
        most_waiting=options.most_waiting,
        body_limit=options.body_limit,
        rate=options.rate,
        session_hours=options.session_hours,
        store_patience=options.store_patience,
        read_only=options.read_only,
        metrics_arms=options.metrics_arms,
        webhooks=options.webhook or (),
        webhook_secret=os.environ.get("LSDT_WEBHOOK_SECRET", ""),
        webhook_origins=options.webhook_origin or (),
        origins=[origin.lower().rstrip("/") for origin in options.cors or ()],
    )
    serve(settings, options.host, options.port, ready=_say_where)


def _say_where(url: str, service: Service) -> None:
    does = "serves" if service.following is None else "shows, and does not change,"
    print(f"lsdt {does} {service.store.url} at {url}")
    if service.guard.is_open:
        print(
            "there are no keys: only this machine is served (lsdt keys add --role admin adds one)", flush=True
        )
    elif not len(service.keys):
        print(CLOSED, flush=True)
