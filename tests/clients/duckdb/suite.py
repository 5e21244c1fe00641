"""DuckDB's scanner of PostgreSQL, over TLS and with a password: it reads the catalogs, and tables by binary COPY.

The extension comes from a package, since DuckDB would download it; DuckDB checks its signature. Prints one line for each check
and, last, how many passed; the exit status says whether all did.
"""

import datetime
import decimal
import os
import pathlib
import sys
import threading

import duckdb
import duckdb_extension_postgres_scanner

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import demo as suite

(EXTENSION,) = pathlib.Path(duckdb_extension_postgres_scanner.__file__).parent.rglob("postgres_scanner.duckdb_extension")


def attached(served):
    connection = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})
    connection.execute(f"LOAD '{EXTENSION}'")
    where = f"host={served.host} port={served.port} user={served.user} dbname={served.database}"
    how = f"password=''{served.password}'' sslmode=verify-full sslrootcert={served.root}"
    connection.execute(f"ATTACH '{where} {how}' AS gate (TYPE postgres, READ_ONLY)")
    return connection


def asked(connection, sql):
    """The rows of a statement that the gateway answers as it is written."""
    return connection.execute("SELECT * FROM postgres_query('gate', ?)", [sql]).fetchall()


def the_catalogs_are_read(connection):
    tables = connection.execute("SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'gate'").fetchall()
    assert {("public", name) for name in ("riders", "trips", "payments", "stations")} <= set(tables), tables
    columns = connection.execute("SELECT column_name, data_type, comment FROM duckdb_columns() WHERE table_name = 'trips'").fetchall()
    assert ("rider_id", "INTEGER", "noisegate: the unit") in columns, columns
    assert [row[0] for row in connection.execute("DESCRIBE gate.public.riders").fetchall()][0] == "rider_id"


def public_tables_are_scanned(connection):
    ((stations,),) = connection.execute("SELECT count(*) FROM gate.public.stations").fetchall()
    large = "SELECT station, capacity FROM gate.public.stations WHERE capacity > ? ORDER BY capacity DESC LIMIT 3"
    rows = connection.execute(large, [20]).fetchall()
    assert stations > 20 and len(rows) == 3 and all(isinstance(capacity, int) for _, capacity in rows), rows
    seen = connection.execute("SELECT count(*) FROM gate.noisegate.columns WHERE is_unit").fetchall()
    assert seen[0][0] >= 2, seen


def aggregates_are_asked_and_joined(connection):
    rows = asked(connection, "SELECT plan, count(*) AS n, avg(birth_year) AS born FROM riders GROUP BY plan ORDER BY plan")
    assert [row[0] for row in rows][:3] == ["day", "month", "year"] and isinstance(rows[0][1], int), rows
    joined = connection.execute(
        """SELECT s.city, sum(t.n) FROM postgres_query('gate', 'SELECT station, count(*) AS n FROM trips GROUP BY station') t
           JOIN gate.public.stations s USING (station) GROUP BY s.city"""
    ).fetchall()
    assert len(joined) > 1, joined


def values_of_every_kind(connection):
    sql = """SELECT true, 7::int2, 1099511627776, 1.5::float8, 1.50::numeric(6,2), 'ä'::text, date '2024-02-29',
        timestamp '2024-02-29 12:30', ARRAY[1, 2], null::int4"""
    wanted = (True, 7, 2**40, 1.5, decimal.Decimal("1.50"), "ä", datetime.date(2024, 2, 29))
    wanted += (datetime.datetime(2024, 2, 29, 12, 30), [1, 2], None)
    assert asked(connection, sql) == [wanted], asked(connection, sql)


def transactions_hold_several_statements(connection):
    connection.execute("BEGIN")
    for _ in range(2):
        connection.execute("SELECT count(*) FROM gate.public.stations").fetchall()
    connection.execute("COMMIT")


def errors_are_told(connection):
    for sql, said in [
        ("SELECT * FROM gate.public.trips", "Rows of single units are never returned"),
        ("SELECT * FROM postgres_query('gate', 'SELECT count(*) FROM nothing')", 'relation "nothing" does not exist'),
        ("CALL postgres_execute('gate', 'DELETE FROM trips')", "read-only"),
    ]:
        try:
            connection.execute(sql).fetchall()
        except duckdb.Error as error:
            assert said in str(error), (sql, error)
            continue
        raise AssertionError(f"answered: {sql}")


def a_statement_is_interrupted(connection):
    threading.Timer(0.5, connection.interrupt).start()
    try:
        connection.execute("SELECT count(*) FROM range(100000000000) a, gate.public.stations s WHERE a.range % 7 = s.capacity").fetchall()
    except duckdb.InterruptException:
        pass
    else:
        raise AssertionError("it was answered")
    assert connection.execute("SELECT count(*) > 20 FROM gate.public.stations").fetchall() == [(True,)]


CHECKS = [
    the_catalogs_are_read,
    public_tables_are_scanned,
    aggregates_are_asked_and_joined,
    values_of_every_kind,
    transactions_hold_several_statements,
    errors_are_told,
    a_statement_is_interrupted,
]


def one(served, check):
    with attached(served) as connection:
        check(connection)


if __name__ == "__main__":
    sys.exit(suite.run("DuckDB", CHECKS, one, suite.Served))
