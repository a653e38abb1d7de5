"""Rows read and written in plain SQL, for what every pod passes through: Django's own way costs several times as much.

Statements are prepared once on each connection, so that PostgreSQL plans them once, and may be sent together. What
happens seldom uses Django's.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, CharField, Field, FloatField, IntegerField, Model, TextField

Params = Sequence[Any]

_prepared: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()
"""Of each of the driver's connections: its prepared statements, how they are called by their SQL."""

_waiting: "WeakKeyDictionary[BaseDatabaseWrapper, _Waiting]" = WeakKeyDictionary()
"""Of each connection on which statements are sent together: those that wait."""


class Query:
    """Statements whose rows hold models: `{pod}` in `sql` stands for the columns of the model given as `pod`.

    Of a model given as (model, names) only these fields are read; Django reads others when they are asked for. A text
    stands for itself.
    """

    def __init__(self, sql: str, **parts: type[Model] | tuple[type[Model], tuple[str, ...]] | str) -> None:
        models = {
            alias: part if isinstance(part, tuple) else (part, ())
            for alias, part in parts.items()
            if not isinstance(part, str)
        }
        self._sql = sql.format(**parts | {alias: _columns(*part, alias) for alias, part in models.items()})
        self._parts = list(models.values())

    def all(self, *params: object) -> list[tuple[Any, ...]]:
        """Each row as its models, in the order in which they were given, and then what else the statement returns."""
        connection = _connection()
        return [self._read(row, connection) for row in fetch_all(self._sql, params)]

    def first(self, *params: object) -> tuple[Any, ...] | None:
        """The first row, or None."""
        row = fetch_one(self._sql, params)
        return row and self._read(row, _connection())

    def _read(self, row: tuple[Any, ...], connection: BaseDatabaseWrapper) -> tuple[Any, ...]:
        found, at = [], 0
        for model, only in self._parts:
            names, loaders = _loaders(model, only)
            values = list(row[at : at + len(names)])
            for position, field in loaders:
                values[position] = field.from_db_value(values[position], None, connection)
            found.append(model.from_db(connection.alias, names, values))
            at += len(names)
        return (*found, *row[at:])


def made(model: type[Model], names: Sequence[str], values: Sequence[Any]) -> Any:
    """A row of which these fields were read in another way."""
    found = dict(zip(names, values, strict=True))
    # Django takes values in the order in which the model has its fields.
    known = [field.attname for field in _fields(model) if field.attname in found]
    return model.from_db(DEFAULT_DB_ALIAS, known, [found[name] for name in known])


def _connection() -> BaseDatabaseWrapper:
    """This thread's; Django's `connection` would look for it anew at every use."""
    return connections[DEFAULT_DB_ALIAS]


@contextmanager
def together() -> Iterator[None]:
    """Statements that answer nothing wait for the next one that does, or for the end: they are sent in one go.

    The way to the database and back costs as much as most of them. What is wrong with one is said where it is sent.
    Called in a transaction; nothing waits in the savepoints of it, or while Django's own statements are executed.
    """
    connection = _connection()
    if connection in _waiting:
        yield
        return
    waiting = _waiting[connection] = _Waiting(len(connection.savepoint_ids))
    try:
        with connection.execute_wrapper(_send_first):
            yield
            waiting.send(connection)
    finally:
        del _waiting[connection]


class _Waiting:
    """Statements that were not sent yet, and how deep in savepoints they may be kept."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self._calls: list[str] = []
        self._params: list[Any] = []

    def add(self, call: str, params: Params) -> None:
        self._calls.append(call)
        self._params += params

    def take(self) -> tuple[str, Params]:
        calls, params = self._calls, self._params
        self._calls, self._params = [], []
        return "; ".join(calls), params

    def send(self, connection: BaseDatabaseWrapper) -> None:
        if self._calls:
            with connection.cursor() as cursor:
                cursor.execute(*self.take())


def _send_first(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
    connection = context["connection"]
    if not sql.startswith("PREPARE"):
        _waiting[connection].send(connection)
    return execute(sql, params, many, context)


def fetch_all(sql: str, params: Params) -> list[tuple[Any, ...]]:
    """All rows of a statement, as they are."""
    with _sent(sql, params) as cursor:
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found


def fetch_one(sql: str, params: Params) -> tuple[Any, ...] | None:
    """The first row of a statement, as it is."""
    with _sent(sql, params) as cursor:
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row


def execute(sql: str, params: Params) -> None:
    """A statement that answers nothing."""
    connection = _connection()
    waiting = _waiting.get(connection)
    if waiting and waiting.depth == len(connection.savepoint_ids):
        waiting.add(_call(connection, sql, len(params)), params)
        return
    with _sent(sql, params):
        pass


@contextmanager
def _sent(sql: str, params: Params) -> Iterator[Any]:
    """The cursor of a statement, and before it of those that wait."""
    connection = _connection()
    with connection.cursor() as cursor:
        call, waiting = _call(connection, sql, len(params)), _waiting.get(connection)
        if waiting:
            waiting.add(call, params)
            call, params = waiting.take()
        cursor.execute(call, params)
        yield cursor


def _call(connection: BaseDatabaseWrapper, sql: str, places: int) -> str:
    """What executes `sql` as a prepared statement of this connection."""
    statements = _prepared.setdefault(connection.connection, {})
    if sql not in statements:
        name, numbers = f"podracer_{len(statements)}", iter(range(1, places + 1))
        with connection.cursor() as cursor:
            cursor.execute(f"PREPARE {name} AS {re.sub('%s', lambda _: f'${next(numbers)}', sql)}")
        statements[sql] = f"EXECUTE {name} ({', '.join(['%s'] * places)})"
    return statements[sql]


def next_key(model: type[Model]) -> str:
    """What a statement has that reserves the key of a row for `insert`."""
    return f"nextval(pg_get_serial_sequence('{model._meta.db_table}', 'id'))"


def insert(row: Model, *, unless_taken: tuple[str, ...] = (), reserved: int | None = None) -> None:
    """Write a new row; it has its key afterwards, unless another is the same in the fields that are named.

    reserved: the key, if there is one already: then the database is asked nothing
    """
    if reserved is not None:
        execute(_insert_sql(type(row), (), keyed=True), [reserved, *_values(row, (), add=True)])
        _written(row, reserved)
        return
    key = fetch_one(_insert_sql(type(row), unless_taken), _values(row, (), add=True))
    if key is None and unless_taken:
        return
    assert key is not None
    _written(row, key[0])


def _written(row: Model, key: int) -> None:
    row.pk = key
    row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS


def update(row: Model, *names: str) -> None:
    """Write these fields of a row, named as Django's `save` would have them."""
    execute(_update_sql(type(row), names), [*_values(row, names), row.pk])


def _values(row: Model, names: tuple[str, ...], *, add: bool = False) -> list[Any]:
    """What these fields hold, as it is stored."""
    connection, values = _connection(), []
    for field, plain in _writers(type(row), names):
        if plain is None:
            values.append(field.get_db_prep_save(field.pre_save(row, add), connection))
        else:
            value = getattr(row, field.attname)
            values.append(None if value is None else plain(value))
    return values


_PLAIN: dict[type, type] = {IntegerField: int, FloatField: float, BooleanField: bool, CharField: str, TextField: str}
"""What values of these fields become, of which nothing else is asked."""


@cache
def _writers(model: type[Model], names: tuple[str, ...]) -> list[tuple[Any, type | None]]:
    fields = [_field(model, name) for name in names] if names else _fields(model)[1:]
    return [(field, next((_PLAIN[kind] for kind in _PLAIN if isinstance(field, kind)), None)) for field in fields]


@cache
def _fields(model: type[Model]) -> tuple["Field[Any, Any]", ...]:
    """Its columns, the key first."""
    return tuple(model._meta.concrete_fields)


def _field(model: type[Model], name: str) -> Any:
    return model._meta.get_field(name)


def _some_fields(model: type[Model], only: tuple[str, ...]) -> tuple["Field[Any, Any]", ...]:
    """In the model's own order, which is how Django wants those that are read."""
    return tuple(field for field in _fields(model) if not only or field.name in only)


@cache
def _loaders(model: type[Model], only: tuple[str, ...]) -> tuple[list[str], list[tuple[int, Any]]]:
    """Its attributes, and which of them are not what the database's driver makes of them, JSON above all."""
    fields = _some_fields(model, only)
    loaders = [(position, field) for position, field in enumerate(fields) if hasattr(field, "from_db_value")]
    return [field.attname for field in fields], loaders


def _columns(model: type[Model], only: tuple[str, ...], alias: str) -> str:
    return ", ".join(f'{alias}."{field.column}"' for field in _some_fields(model, only))


@cache
def _insert_sql(model: type[Model], unless_taken: tuple[str, ...], keyed: bool = False) -> str:
    fields = _fields(model) if keyed else _fields(model)[1:]
    names = ", ".join(f'"{field.column}"' for field in fields)
    places = ", ".join(["%s"] * len(fields))
    unique = ", ".join(f'"{_field(model, name).column}"' for name in unless_taken)
    otherwise = f"ON CONFLICT ({unique}) DO NOTHING " if unique else ""
    answer = "" if keyed else f"{otherwise}RETURNING id"
    return f'INSERT INTO "{model._meta.db_table}" ({names}) VALUES ({places}) {answer}'  # noqa: S608 - no values


@cache
def _update_sql(model: type[Model], names: tuple[str, ...]) -> str:
    columns = ", ".join(f'"{_field(model, name).column}" = %s' for name in names)
    return f'UPDATE "{model._meta.db_table}" SET {columns} WHERE id = %s'  # noqa: S608 - no values
