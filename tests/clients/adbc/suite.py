"""ADBC's PostgreSQL driver, over TLS and with a password: it reads every answer by `COPY (…) TO STDOUT (FORMAT binary)`.

Prints one line for each check and, last, how many passed; the exit status says whether all did.
"""

import os
import sys
import urllib.parse

import adbc_driver_manager
import adbc_driver_postgresql.dbapi
import pandas

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import demo as suite


def url(served):
    options = urllib.parse.urlencode({"sslmode": "verify-full", "sslrootcert": served.root})
    who = f"{served.user}:{urllib.parse.quote(served.password)}"
    return f"postgresql://{who}@{served.host}:{served.port}/{served.database}?{options}"


def groups_become_arrow(connection):
    with connection.cursor() as cursor:
        cursor.execute("SELECT plan, count(*) AS n, avg(birth_year) AS born FROM riders GROUP BY plan ORDER BY plan")
        table = cursor.fetch_arrow_table()
        assert table.column("plan").to_pylist()[:3] == ["day", "month", "year"], table
        assert str(table.schema.field("n").type) == "int64", table.schema


def statements_have_parameters(connection):
    with connection.cursor() as cursor:
        for year in (1960, 1970):
            cursor.execute("SELECT plan, count(*) FROM riders WHERE birth_year > $1 GROUP BY plan", (year,))
            assert len(cursor.fetchall()) >= 3


def values_of_every_kind(connection):
    sql = "SELECT true a, 1::int2 b, 2::int8 c, 1.5::float8 d, 1.5::numeric(6,2) e, 'ä'::text f, date '2024-02-29' g, now() h"
    with connection.cursor() as cursor:
        cursor.execute(sql)
        row = cursor.fetch_arrow_table().to_pylist()[0]
        assert [row[name] for name in "abcdf"] == [True, 1, 2, 1.5, "ä"] and str(row["e"]) == "1.50", row
        assert str(row["g"]) == "2024-02-29" and row["h"].tzinfo is not None, row


def objects_and_schemas(connection):
    found = connection.adbc_get_objects(depth="all").read_all().to_pylist()
    (catalog,) = [entry for entry in found if entry["catalog_name"] == "demo"]
    tables = {
        table["table_name"]: table
        for schema in catalog["catalog_db_schemas"]
        if schema["db_schema_name"] == "public"
        for table in schema["db_schema_tables"]
    }
    assert {"riders", "trips", "payments", "stations"} <= set(tables), set(tables)
    assert tables["trips"]["table_columns"][0]["remarks"] == "noisegate: the unit"
    assert connection.adbc_get_table_schema("trips").names[0] == "rider_id"
    with connection.cursor() as cursor:
        assert cursor.adbc_execute_schema("SELECT count(*) AS n FROM trips").names == ["n"]


def pandas_reads(connection):
    frame = pandas.read_sql("SELECT station, capacity FROM stations ORDER BY 1", connection)
    assert len(frame) > 20 and frame.capacity.dtype.kind == "i", frame.dtypes


def errors_have_their_sqlstates(connection):
    for sql, sqlstate in [("SELECT * FROM trips", "0A000"), ("DELETE FROM trips", "42501"), ("SELEC 1", "42601")]:
        with connection.cursor() as cursor:
            try:
                cursor.execute(sql)
                cursor.fetch_arrow_table()
            except adbc_driver_manager.Error as error:
                assert error.sqlstate == sqlstate, (sql, error.sqlstate)
                connection.rollback()
                continue
        raise AssertionError(f"answered: {sql}")


CHECKS = [
    groups_become_arrow,
    statements_have_parameters,
    values_of_every_kind,
    objects_and_schemas,
    pandas_reads,
    errors_have_their_sqlstates,
]


def one(served, check):
    with adbc_driver_postgresql.dbapi.connect(url(served)) as connection:
        check(connection)


if __name__ == "__main__":
    sys.exit(suite.run("ADBC", CHECKS, one, suite.Served))
