"""Resolvers whose exceptions become members of the field's union, as Strawberry's handlers say."""

import inspect
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from strawberry.schema.exception_handlers import ExceptionHandler
from strawberry.types.field import StrawberryField

Function: TypeAlias = Callable[..., Any]
Handlers: TypeAlias = tuple[tuple[tuple[type[Exception], ...], ExceptionHandler[Any]], ...]

INFO: Final = "_info_of_handlers"
"""How a resolver that wants no info is given one, for its handlers."""


def handled(
    function: Function, field: StrawberryField, handlers: Handlers, info_name: str | None
) -> Function:
    """Give a resolver of what `function` gives, or what the first handler says of its exception.

    Both are coroutine functions. It is called as `function` is, with an info in any case. A handler
    declines with None.
    """
    name = INFO if info_name is None else info_name
    take = dict.pop if info_name is None else dict.__getitem__

    def said(error: Exception, info: Any) -> Any:
        for kinds, handler in handlers:
            if isinstance(error, kinds):
                return handler.handle(error, field=field, info=info)
        return None

    async def resolve(*args: Any, **kwargs: Any) -> Any:
        info = take(kwargs, name)
        try:
            return await function(*args, **kwargs)
        except Exception as error:
            answer = said(error, info)
            answer = await answer if inspect.isawaitable(answer) else answer
            if answer is None:
                raise
            return answer

    return resolve
