"""The header fields of a request, looked up by name instead of searched through."""

from typing import Final, overload

from starlette.datastructures import Headers
from starlette.types import Scope

_KEPT: Final = "penstock.fields"


class Fields(Headers):
    """Starlette's headers with an index; names of the scope are in lower case, as ASGI says."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(raw=scope["headers"])
        self._index: dict[str, list[str]] = {}
        for name, value in self._list:
            self._index.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))

    def __getitem__(self, key: str) -> str:
        return self._index[key.lower()][0]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key.lower() in self._index

    @overload  # type: ignore[override]
    def get(self, key: str) -> str | None: ...
    @overload
    def get(self, key: str, default: str) -> str: ...
    def get(self, key: str, default: str | None = None) -> str | None:
        found = self._index.get(key.lower())
        return default if found is None else found[0]

    def getlist(self, key: str) -> list[str]:
        return self._index.get(key.lower(), [])


def fields_of(scope: Scope) -> Fields:
    """Read the header fields of a scope once, whoever asks for them."""
    found = scope.get(_KEPT)
    if found is None:
        found = scope[_KEPT] = Fields(scope)
    return found
