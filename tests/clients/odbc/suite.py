"""psqlODBC, by pyodbc, over TLS and with a password, with its usual settings, with cursors for every statement, and with
parameters put into the statement by the driver.

Prints one line for each check and, last, how many passed; the exit status says whether all did.
"""

import datetime
import decimal
import os
import sys

import pyodbc

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import demo as suite

SETTINGS = ["", "UseDeclareFetch=1;Fetch=7;", "UseServerSidePrepare=0;"]


def connect(served, settings):
    # The driver hands `pqopt` to libpq.
    return pyodbc.connect(
        f"Driver={{PostgreSQL Unicode}};Server={served.host};Port={served.port};Database={served.database};"
        f"Uid={served.user};Pwd={served.password};SSLmode=verify-full;pqopt={{sslrootcert={served.root}}};{settings}",
        autocommit=True,
    )


def the_catalog_functions(cursor):
    tables = {(row.table_schem, row.table_name): row.table_type for row in cursor.tables()}
    assert tables["public", "trips"] == "TABLE" and tables["noisegate", "budget"] == "VIEW", tables
    columns = [(row.column_name, row.type_name, row.nullable) for row in cursor.columns(table="trips")]
    assert columns[0] == ("rider_id", "int4", 0) and len(columns) == 5, columns
    assert [row.column_name for row in cursor.primaryKeys(table="riders")] == ["rider_id"]
    assert "riders" in [row.pktable_name for row in cursor.foreignKeys(foreignTable="trips")]
    assert [row.index_name for row in cursor.statistics("riders")].count("riders_pkey") == 1
    assert len(list(cursor.getTypeInfo())) > 10


def groups_and_parameters(cursor):
    sql = "SELECT plan, count(*) AS n FROM riders WHERE birth_year > ? AND plan IN (?, ?) GROUP BY plan ORDER BY plan"
    for year in (1960, 1970):
        rows = cursor.execute(sql, year, "day", "year").fetchall()
        assert [row.plan for row in rows] == ["day", "year"] and isinstance(rows[0].n, int), rows
    sql = "SELECT count(*), avg(fare) FROM trips WHERE started_at >= ? AND fare > ?"
    (count, average) = cursor.execute(sql, datetime.datetime(2024, 1, 1), decimal.Decimal("1.5")).fetchone()
    assert isinstance(count, int) and isinstance(average, decimal.Decimal | None), (count, average)


def values_of_every_kind(cursor):
    row = cursor.execute(
        "SELECT 1::int2, 2::int8, 1.5::float8, 1.5::numeric(6,2), 'ä'::text, date '2024-02-29', "
        "timestamp '2024-02-29 12:00', time '10:00', null"
    ).fetchone()
    moments = [datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12), datetime.time(10)]
    assert list(row) == [1, 2, 1.5, decimal.Decimal("1.5"), "ä", *moments, None], row


def tables_are_read_in_parts(cursor):
    cursor.execute("SELECT station, capacity FROM stations ORDER BY station")
    first, rest = cursor.fetchmany(3), cursor.fetchall()
    assert len(first) == 3 and len(rest) > 20 and first[-1].station < rest[0].station


def errors_have_their_sqlstates(cursor):
    for sql, sqlstate in [
        ("SELECT * FROM trips", "0A000"),
        ("SELECT count(*) FROM nothing", "42P01"),
        ("DELETE FROM trips", "42501"),
    ]:
        try:
            cursor.execute(sql)
        except pyodbc.Error as error:
            assert error.args[0] == sqlstate, error.args
            continue
        raise AssertionError(f"answered: {sql}")
    assert cursor.execute("SELECT 5").fetchval() == 5


def transactions(cursor):
    cursor.connection.autocommit = False
    assert cursor.execute("SELECT 1").fetchval() == 1
    cursor.connection.rollback()
    assert cursor.execute("SELECT 2").fetchval() == 2
    cursor.connection.commit()


CHECKS = [
    the_catalog_functions,
    groups_and_parameters,
    values_of_every_kind,
    tables_are_read_in_parts,
    errors_have_their_sqlstates,
    transactions,
]


def one(served, check):
    for settings in SETTINGS:
        connection = connect(served, settings)
        try:
            check(connection.cursor())
        except Exception as error:
            raise AssertionError(f"with {settings!r}: {error!r}") from error
        finally:
            connection.close()


if __name__ == "__main__":
    # The driver manager of the library has no pool that would outlive the server.
    pyodbc.pooling = False
    sys.exit(suite.run("psqlODBC", CHECKS, one, suite.Served))
