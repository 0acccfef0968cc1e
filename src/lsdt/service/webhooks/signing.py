"""Signatures by the Standard Webhooks specification, so that its libraries verify what is sent.

The signature is an HMAC-SHA256 over ``id.timestamp.body``: a receiver that knows the secret can tell who sent
a message, that nothing was changed, and that an old one is not being replayed.
"""

from __future__ import annotations

import binascii
import hmac
import secrets
from base64 import b64decode, b64encode
from hashlib import sha256

from lsdt.errors import InvalidInput

PREFIX = "whsec_"
_SHORTEST, _LONGEST = 24, 64  # bytes, by the specification


def new_secret() -> str:
    """Return a new secret."""
    return PREFIX + b64encode(secrets.token_bytes(32)).decode()


def checked_secrets(text: str) -> tuple[bytes, ...]:
    """Return the keys of one secret, or of several with spaces between them, while one replaces another.

    Examples
    --------
    >>> from lsdt.service.webhooks.signing import checked_secrets
    >>> len(checked_secrets("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")[0])
    24
    """
    keys = []
    for word in text.split():
        try:
            key = b64decode(word.removeprefix(PREFIX), validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if not _SHORTEST <= len(key) <= _LONGEST:
            raise InvalidInput(
                f"the secret of a webhook is {PREFIX} and {_SHORTEST} to {_LONGEST} random bytes in base64; "
                f'make one with: echo "{PREFIX}$(openssl rand -base64 32)"'
            )
        keys.append(key)
    return tuple(keys)


def signature(keys: tuple[bytes, ...], message_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of ``webhook-signature``: one signature for each key.

    Examples
    --------
    >>> from lsdt.service.webhooks.signing import checked_secrets, signature
    >>> keys = checked_secrets("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    >>> signature(keys, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    content = f"{message_id}.{timestamp}.".encode() + body
    made = (b64encode(hmac.new(key, content, sha256).digest()).decode() for key in keys)
    return " ".join(f"v1,{each}" for each in made)
