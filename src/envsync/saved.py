"""Data that were written as JSON, read back as what they were."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Data = TypeVar("Data")


def read_as(kind: type[Data], value: object) -> Data:
    """A frozen dataclass of plain values, tuples and others like it, from what JSON made of it.

    Fields that it does not know are left out, since a newer envsync may have written them; those
    that are not there have their default. Raises TypeError where there is something else.
    """
    found: Data = _read(kind, value)
    return found


def _read(kind: Any, value: object) -> Any:
    if dataclasses.is_dataclass(kind) and isinstance(value, Mapping):
        hints = get_type_hints(kind)
        known = [each.name for each in dataclasses.fields(kind) if each.name in value]
        return kind(**{name: _read(hints[name], value[name]) for name in known})  # type: ignore[operator]
    if get_origin(kind) is UnionType:
        return _one_of(kind, value)
    if get_origin(kind) is Mapping and isinstance(value, Mapping):
        return {str(key): _read(get_args(kind)[1], item) for key, item in value.items()}
    if get_origin(kind) is tuple and isinstance(value, list):
        return _tuple(get_args(kind), value)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is kind:  # a bool is no number here
        return value
    raise TypeError(f"{value!r:.60} is no {getattr(kind, '__name__', kind)}")


def _one_of(kind: UnionType, value: object) -> Any:
    if value is None and NoneType in get_args(kind):
        return None
    (other,) = (each for each in get_args(kind) if each is not NoneType)
    return _read(other, value)


def _tuple(kinds: tuple[Any, ...], values: list[object]) -> tuple[Any, ...]:
    if kinds[-1] is Ellipsis:
        return tuple(_read(kinds[0], each) for each in values)
    if len(kinds) != len(values):
        raise TypeError(f"{len(values)} values where there should be {len(kinds)}")
    return tuple(_read(*pair) for pair in zip(kinds, values, strict=True))
