"""Webhooks: the service tells others what happened, so that nobody has to watch a page.

`conditions` says what is the case now: an experiment can be stopped, one is paused, the disk is nearly full.
`watcher` compares this with what was announced before, in a separate thread, and puts what changed into the
`outbox`, which is in the store. `courier` delivers it to the `endpoints` and repeats what does not arrive;
`delivery` makes one attempt, `signing` signs it, and `addresses` says where it may go.
"""

from lsdt.service.webhooks.endpoints import Endpoint, remove_webhooks_of
from lsdt.service.webhooks.watcher import Webhooks

__all__ = ["Endpoint", "Webhooks", "remove_webhooks_of"]
