"""Engines for tests: DuckDB and Polars in this process, and a PostgreSQL server of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import warnings
from contextlib import contextmanager
from glob import glob
from pathlib import Path

import ibis
import pyarrow as pa
import pytest

NAMES = ("duckdb", "polars", "postgres")


class Engine:
    """Tables of Arrow in an engine."""

    def __init__(self, name, connection):
        self.name, self.connection = name, connection

    def table(self, columns):
        """Return a new table with some columns, Arrow arrays by name."""
        table = pa.table(columns)
        if self.name == "polars":
            self.connection.create_table("records", table, overwrite=True)
        elif self.name == "duckdb":  # ibis 12 makes no tables with newer releases of sqlglot
            duck = self.connection.con
            duck.register("given", table)
            duck.execute("CREATE OR REPLACE TABLE records AS SELECT * FROM given")
            duck.unregister("given")
        else:
            self._make(table)
        return self.connection.table("records")

    def _make(self, table):
        types = ", ".join(f'"{field.name}" {of_postgres(field.type)}' for field in table.schema)
        connection = self.connection.con
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS records; CREATE TABLE records ({types})")
            places = ", ".join(["%s"] * table.num_columns)
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            cursor.executemany(f"INSERT INTO records VALUES ({places})", list(rows))
        connection.commit()


def of_postgres(kind):
    """Return the type of PostgreSQL for a type of Arrow."""
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamptz"
    named = {"double": "double precision", "float": "real", "int64": "bigint", "int32": "integer"}
    named |= {"int8": "smallint", "bool": "boolean", "date32[day]": "date", "string": "text"}
    return {**named, "duration[us]": "interval", "binary": "bytea"}[str(kind)]


@contextmanager
def engine(name):
    """Yield an engine that is connected to, or skip the test with the reason."""
    if name != "postgres":
        yield Engine(name, getattr(ibis, name).connect())
        return
    with postgres_server() as (host, port, user), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        connection = ibis.postgres.connect(host=host, port=port, user=user, database="postgres")
        try:
            yield Engine(name, connection)
        finally:
            connection.disconnect()


@contextmanager
def postgres_server():
    """Yield the address of a PostgreSQL server on the loopback, whose folder is removed later."""
    try:
        import psycopg  # noqa: F401
    except ImportError:  # also of the library of PostgreSQL that it calls
        pytest.skip("psycopg is not installed, or not with PostgreSQL's library")
    found = [shutil.which("initdb"), *sorted(glob("/usr/lib/postgresql/*/bin/initdb"))]
    if not (initdb := next(filter(None, found[::-1]), None)):
        pytest.skip("PostgreSQL is not installed")
    user, how = None, {}
    if os.geteuid() == 0:  # PostgreSQL does not run as root
        try:
            user = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        how = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    folder = Path(tempfile.mkdtemp(prefix="dpcore-pg-", dir="/tmp"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    try:
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
        tools, data = Path(initdb).parent, folder / "data"
        run = {"cwd": folder, "check": True, "capture_output": True, **how}
        made = [initdb, "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C"]
        server = [tools / "pg_ctl", "-D", data, "-w", "-l", folder / "log"]
        options = f"-p {port} -h 127.0.0.1 -k {folder} -c fsync=off"
        try:
            subprocess.run(made, **run)
            subprocess.run([*server, "-o", options, "start"], **run)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"PostgreSQL does not start here: {type(error).__name__}")
        try:
            yield "127.0.0.1", port, "tester"
        finally:
            subprocess.run([*server, "-m", "immediate", "stop"], **{**run, "check": False})
    finally:
        shutil.rmtree(folder, ignore_errors=True)
