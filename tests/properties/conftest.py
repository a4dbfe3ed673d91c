"""The fixtures of the datastore's tests, for properties of whole stores."""

from tests.datastore.conftest import implementation, store, table

__all__ = ["implementation", "store", "table"]
