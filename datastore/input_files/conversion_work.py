"""The work of making CSV of an input, with the error of one that takes too long."""

from penstock.datastore.interruptible_work import InterruptibleWork
from penstock.transform.problems import InputRefused, TransformCode


class ConversionWork(InterruptibleWork):
    """Says to the thread that makes CSV of an input whether it may go on."""

    __slots__ = ()

    def too_long_error(self) -> InputRefused:
        """The error for an input that takes longer than it may."""
        message = (
            f"making CSV of the file takes more than {self.most_seconds:.0f} seconds of "
            "processor time; send it as CSV, or in smaller files"
        )
        return InputRefused(TransformCode.CONVERSION_TOO_LONG, message)
