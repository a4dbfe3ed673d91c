"""The extensions that an error of an answer has."""

from penstock.datastore.errors import RETRYABLE, ErrorCode


def extensions_of(code: str, request_id: str | None = None, **more: object) -> dict[str, object]:
    """Return the extensions of an error; `more` are those that only some errors have."""
    named = {} if request_id is None else {"requestId": request_id}
    details = {"retryable": ErrorCode(code) in RETRYABLE, "docUrl": f"/errors/{code}"}
    return {"code": code, **more, **details, **named}
