"""Rows read and written in plain SQL, for what every pod passes through: Django's own way costs several times as much.

Whatever happens seldom uses Django's.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import Field, Model

Params = Sequence[Any] | Mapping[str, Any]


class Query:
    """Statements whose rows hold models: `{pod}` in `sql` stands for the columns of the model given as `pod`."""

    def __init__(self, sql: str, **models: type[Model]) -> None:
        self._sql = sql.format(**{alias: _columns(model, alias) for alias, model in models.items()})
        self._models = models

    def all(self, *params: object) -> list[tuple[Any, ...]]:
        """Each row as its models, in the order in which they were given, and then what else the statement returns."""
        return [self._read(row) for row in fetch_all(self._sql, params)]

    def first(self, *params: object) -> tuple[Any, ...] | None:
        """The first row, or None."""
        row = fetch_one(self._sql, params)
        return row and self._read(row)

    def _read(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        found, at = [], 0
        for model in self._models.values():
            names, loaders = _loaders(model)
            values = list(row[at : at + len(names)])
            for position, field in loaders:
                values[position] = field.from_db_value(values[position], None, connection)
            found.append(model.from_db(connection.alias, names, values))
            at += len(names)
        return (*found, *row[at:])


def fetch_all(sql: str, params: Params) -> list[tuple[Any, ...]]:
    """All rows of a statement, as they are."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found


def fetch_one(sql: str, params: Params) -> tuple[Any, ...] | None:
    """The first row of a statement, as it is."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row


def execute(sql: str, params: Params) -> None:
    """A statement that answers nothing."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)


def insert(row: Model) -> None:
    """Write a new row; it has its key afterwards."""
    fields = _fields(type(row))[1:]
    key = fetch_one(_insert_sql(type(row)), [_stored(row, field, add=True) for field in fields])
    assert key is not None
    row.pk = key[0]
    row._state.adding, row._state.db = False, connection.alias


def update(row: Model, *names: str) -> None:
    """Write these fields of a row, named as Django's `save` would have them."""
    fields = [_field(type(row), name) for name in names]
    execute(_update_sql(type(row), names), [*(_stored(row, field, add=False) for field in fields), row.pk])


def _stored(row: Model, field: Any, *, add: bool) -> Any:
    return field.get_db_prep_save(field.pre_save(row, add), connection)


@cache
def _fields(model: type[Model]) -> tuple["Field[Any, Any]", ...]:
    """Its columns, the key first."""
    return tuple(model._meta.concrete_fields)


def _field(model: type[Model], name: str) -> Any:
    return model._meta.get_field(name)


@cache
def _loaders(model: type[Model]) -> tuple[list[str], list[tuple[int, Any]]]:
    """Its attributes, and which of them are not what the database's driver makes of them, JSON above all."""
    fields = _fields(model)
    loaders = [(position, field) for position, field in enumerate(fields) if hasattr(field, "from_db_value")]
    return [field.attname for field in fields], loaders


def _columns(model: type[Model], alias: str) -> str:
    return ", ".join(f'{alias}."{field.column}"' for field in _fields(model))


@cache
def _insert_sql(model: type[Model]) -> str:
    fields = _fields(model)[1:]
    names = ", ".join(f'"{field.column}"' for field in fields)
    places = ", ".join(["%s"] * len(fields))
    return f'INSERT INTO "{model._meta.db_table}" ({names}) VALUES ({places}) RETURNING id'  # noqa: S608 - no values


@cache
def _update_sql(model: type[Model], names: tuple[str, ...]) -> str:
    columns = ", ".join(f'"{_field(model, name).column}" = %s' for name in names)
    return f'UPDATE "{model._meta.db_table}" SET {columns} WHERE id = %s'  # noqa: S608 - no values
