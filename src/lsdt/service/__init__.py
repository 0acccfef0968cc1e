"""The decision service: agents over HTTP, durable, for workers in any language.

`server` runs it (``lsdt serve``) by its `settings`; `app` joins two paths: `decisions` answers ask, tell and
observe without a framework (`connection` has most of them answered without a task), `routes` all the rest,
and `pages` are for people. `hosting` has the agents and their store, and makes answers durable.
`decision_ids` and `keys` say whom and what to trust, `requests` reads a request, `answers` writes an answer
or an error. `messages` are the shapes of the bodies, and `openapi` describes them. `sources` makes side
information of what was sent, `event_log` shows a log, `stopping_forecast` looks, in the background, how far
an experiment is from stopping, `plans` say what to expect of one without rewards, `attention` says in
sentences what is wrong, `metrics` counts (and `arm_metrics` does for arms), `webhooks` tells others, `client`
is `lsdt.Client`.

Nothing is imported here: a client needs httpx and no server, a server no httpx.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
