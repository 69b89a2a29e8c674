"""API keys: who may ask."""

import hashlib
import hmac
from collections.abc import Iterable

from copyfit.server.problems import unauthorized

SCHEME = "bearer"


class Keys:
    """Tell the holders of keys apart, in a time that says nothing of the keys."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._digests = [_digest(key) for key in keys]

    @property
    def some(self) -> bool:
        """Tell whether there are keys at all."""
        return bool(self._digests)

    def holder(self, authorization: str) -> str:
        """Return the name of who sent this header; refuse one whose key is not known."""
        scheme, _, key = authorization.partition(" ")
        given = _digest(key.strip())
        found = [hmac.compare_digest(given, digest) for digest in self._digests]
        if scheme.lower() != SCHEME or not any(found):
            raise unauthorized()
        return f"key {found.index(True) + 1}"


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
