"""A moto server that answers the requests of DynamoDB one after the other.

moto copies its tables before a transaction, and restores the copies when it refuses: the copy fails
if another thread writes meanwhile, and restoring it would undo what that thread wrote. It also
changes the attributes of an item one by one. AWS does none of this.
"""

from collections import deque
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from threading import Lock, Thread
from typing import Any, Final, TypeAlias

from werkzeug.serving import BaseWSGIServer, make_server

Application: TypeAlias = Callable[[dict[str, Any], Any], Iterable[bytes]]

HOST: Final = "127.0.0.1"


def serve_moto() -> BaseWSGIServer:
    """Start moto (DynamoDB, S3) on a free port of loopback, in threads of this process.

    `shutdown` of the server that is returned ends it.
    """
    # The imports take half a second, and most test runs do not need them.
    moto = import_module("moto.server")
    _track_no_items()
    dispatcher = moto.DomainDispatcherApplication(moto.create_backend_app)
    _look_up_once(dispatcher)
    application = answer_in_turn(dispatcher)
    server = make_server(
        HOST, 0, application, threaded=True, request_handler=moto.MotoRequestHandler
    )
    Thread(target=server.serve_forever, daemon=True).start()
    return server


def _track_no_items() -> None:
    """Have moto keep no item but those of its tables.

    For its dashboard it keeps every item that was ever written, and every copy that a transaction
    made: millions of objects at the end of a run, all of which a collection of garbage examines.
    """
    import_module("moto.dynamodb.models")
    for model in import_module("moto.core.model_instances").model_data["dynamodb"].values():
        model.instances_tracked = deque(maxlen=0)


def _look_up_once(dispatcher: Any) -> None:
    """Have moto look up a service and its methods once, in place of at each request.

    It would list its folders and the members of a class, which takes a third of a short request.
    """
    dispatcher.get_backend_for_host = cache(dispatcher.get_backend_for_host)
    responses: Any = import_module("moto.core.responses")
    responses.method_names_from_class = cache(responses.method_names_from_class)


def forget_table(name: str, region: str) -> None:
    """Remove a table from the server of this process, without a request."""
    account = import_module("moto.core").DEFAULT_ACCOUNT_ID
    backends = import_module("moto.dynamodb.models").dynamodb_backends
    backends[account][region].tables.pop(name, None)


def answer_in_turn(application: Application) -> Application:
    """Return the application with one request of DynamoDB at a time; others run beside it."""
    turn = Lock()

    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if not environ.get("HTTP_X_AMZ_TARGET", "").startswith("DynamoDB"):
            return application(environ, start_response)
        with turn:
            return application(environ, start_response)

    return answer
