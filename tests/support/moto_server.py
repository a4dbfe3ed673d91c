"""A moto server that answers the requests of DynamoDB one after the other.

moto copies its tables before a transaction, and restores the copies when it refuses: the copy fails
if another thread writes meanwhile, and restoring it would undo what that thread wrote. It also
changes the attributes of an item one by one. AWS does none of this.
"""

from collections import deque
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from io import BytesIO
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
        HOST, 0, application, threaded=True, request_handler=_keep_connections(moto)
    )
    Thread(target=server.serve_forever, daemon=True).start()
    return server


def _keep_connections(moto: Any) -> Any:
    """Return moto's handler of requests, with connections that serve many, as those of AWS do.

    werkzeug closes each after one request: a connection and a thread take longer than most.
    """

    class Handler(moto.MotoRequestHandler):  # type: ignore[misc]
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # One write for an answer: a second one would wait for its receipt.

        def run_wsgi(self) -> None:
            if self.headers.get("Expect", "").lower() == "100-continue":
                self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                self.wfile.flush()
            environ = self.make_environ()
            # What the application does not read would be the beginning of the next request.
            length = int(environ.get("CONTENT_LENGTH") or 0)
            is_chunked = environ.get("wsgi.input_terminated", False)
            environ["wsgi.input"] = BytesIO(
                environ["wsgi.input"].read(-1 if is_chunked else length)
            )
            begun: list[Any] = []
            parts = self.server.app(environ, lambda *given: begun.extend(given))
            content = b"".join(parts)
            if hasattr(parts, "close"):
                parts.close()
            status, headers, *_ = begun
            self._answer(status, headers, content)

        def _answer(self, status: str, headers: list[tuple[str, str]], content: bytes) -> None:
            code, _, reason = status.partition(" ")
            self.send_response(int(code), reason)
            names = {name.lower() for name, _ in headers}
            for name, value in headers:
                self.send_header(name, value)
            has_body = self.command != "HEAD" and code not in {"204", "304"}
            if has_body and "content-length" not in names:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if has_body:
                self.wfile.write(content)

    return Handler


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
