"""The failure that no further attempt helps against, known without AWS's library."""


class Refused(Exception):
    """DynamoDB will not do what was asked, however often: a bug here or a wrong set-up.

    `code` and `message` are DynamoDB's; they are for the log, not for clients.
    """

    def __init__(self, operation: str, code: str, message: str) -> None:
        super().__init__(f"{operation} was refused with {code}: {message}")
        self.code = code
        self.message = message
