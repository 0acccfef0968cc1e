"""How a method that is written once becomes a plain and an asynchronous one, with the types of both."""

from __future__ import annotations

from functools import update_wrapper, wraps
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from lsdt.agent import Recommendation, TopRecommendation
    from lsdt.service.client.clients import AsyncClient, Client
    from lsdt.service.client.results import RemoteDecision

P = ParamSpec("P")
T = TypeVar("T")
One = TypeVar("One", covariant=True)
Many = TypeVar("Many", covariant=True)
# Not Coroutine[Any, Any, T]: the results of asyncio.gather would be Any for mypy.
Awaited: TypeAlias = "Coroutine[object, None, T]"


class Both(Generic[P, T]):
    """A method written as a coroutine: `AsyncClient` has it as it is, `Client` runs it to its end.

    Examples
    --------
    >>> import inspect, lsdt
    >>> inspect.iscoroutinefunction(lsdt.AsyncClient.tell), inspect.iscoroutinefunction(lsdt.Client.tell)
    (True, False)
    """

    def __init__(self, method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> None:
        @wraps(method)
        def plain(client: Client, *args: P.args, **options: P.kwargs) -> T:
            return finish(method(client, *args, **options))

        self._plain, self._method = plain, method
        this: Any = self
        update_wrapper(this, method)  # for doctest, which looks at the class as it is written

    @overload
    def __get__(self, client: Client, kind: Any) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, kind: Any) -> Callable[P, Awaited[T]]: ...
    @overload
    def __get__(self, client: None, kind: type[Client]) -> Callable[Concatenate[Client, P], T]: ...
    @overload
    def __get__(
        self, client: None, kind: type[AsyncClient]
    ) -> Callable[Concatenate[AsyncClient, P], Awaited[T]]: ...
    def __get__(self, client: Any, kind: Any) -> Any:
        function: Any = self._method if kind._is_async else self._plain
        return function if client is None else MethodType(function, client)


class AskSignature(Protocol[One, Many]):
    """What `ask` takes and returns: one decision, or a list of `n`."""

    @overload
    def __call__(
        self,
        n: None = None,
        *,
        allowed: Any = None,
        propensity: bool | int = False,
        distinct: bool = False,
        unit: str | None = None,
    ) -> One: ...
    @overload
    def __call__(
        self, n: int, *, allowed: Any = None, propensity: bool | int = False, distinct: bool = False
    ) -> Many: ...


class BothAsk(Both[..., Any]):
    """`Both` for `ask`, since mypy would keep only the first of its overloads."""

    if TYPE_CHECKING:

        @overload
        def __get__(
            self, client: Client, kind: Any
        ) -> AskSignature[RemoteDecision, list[RemoteDecision]]: ...
        @overload
        def __get__(
            self, client: AsyncClient, kind: Any
        ) -> AskSignature[Awaited[RemoteDecision], Awaited[list[RemoteDecision]]]: ...
        @overload
        def __get__(self, client: None, kind: Any) -> Callable[..., Any]: ...
        def __get__(self, client: Any, kind: Any) -> Any: ...


class BestSignature(Protocol[One, Many]):
    """What `best` takes and returns: one arm, or the best `top`."""

    @overload
    def __call__(self, n_runners_up: int = 3, *, top: None = None) -> One: ...
    @overload
    def __call__(self, n_runners_up: int = 3, *, top: int) -> Many: ...


class BothBest(Both[..., Any]):
    """`Both` for `best`, since mypy would keep only the first of its overloads."""

    if TYPE_CHECKING:

        @overload
        def __get__(self, client: Client, kind: Any) -> BestSignature[Recommendation, TopRecommendation]: ...
        @overload
        def __get__(
            self, client: AsyncClient, kind: Any
        ) -> BestSignature[Awaited[Recommendation], Awaited[TopRecommendation]]: ...
        @overload
        def __get__(self, client: None, kind: Any) -> Callable[..., Any]: ...
        def __get__(self, client: Any, kind: Any) -> Any: ...


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that never suspends, which is so for those of a `Client`.

    It runs on the spot: no event loop is needed, and one that is running is left alone.
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise RuntimeError("a method of Client waited for an event loop")
