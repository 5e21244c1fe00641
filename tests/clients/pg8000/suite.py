"""pg8000, a driver in Python alone, over TLS and with a password: it prepares each statement that has parameters.

Prints one line for each check and, last, how many passed; the exit status says whether all did.
"""

import datetime
import decimal
import io
import os
import ssl
import sys

import pg8000.dbapi
import pg8000.native

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import demo as suite


def where(served):
    return {
        "host": served.host,
        "port": served.port,
        "user": served.user,
        "password": served.password,
        "database": served.database,
        "ssl_context": ssl.create_default_context(cafile=served.root),
    }


def values_of_every_kind(served):
    with pg8000.native.Connection(**where(served)) as connection:
        for ty, value in [
            ("bool", True),
            ("int4", 7),
            ("int8", 2**40),
            ("float8", 1.5),
            ("numeric", decimal.Decimal("12.340")),
            ("text", "it's ä"),
            ("date", datetime.date(2024, 2, 29)),
            ("timestamptz", datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc)),
            ("text", None),
        ]:
            assert connection.run(f"SELECT CAST(:v AS {ty})", v=value) == [[value]], ty


def groups_and_parameters(served):
    with pg8000.native.Connection(**where(served)) as connection:
        sql = "SELECT plan, count(*) AS n, avg(birth_year) FROM riders WHERE birth_year > :y GROUP BY plan ORDER BY plan"
        rows = connection.run(sql, y=1970)
        assert [column["name"] for column in connection.columns] == ["plan", "n", "avg"]
        assert [row[0] for row in rows][:3] == ["day", "month", "year"] and isinstance(rows[0][1], int), rows
        assert any(notice[b"M"].startswith(b"spent ") for notice in connection.notices)


def prepared_statements(served):
    with pg8000.native.Connection(**where(served)) as connection:
        statement = connection.prepare("SELECT count(*) FROM trips WHERE minutes > :m AND station = ANY(CAST(:s AS text[]))")
        for minutes in (5, 6):
            assert isinstance(statement.run(m=minutes, s=["Norwick Riverside", "Norwick Stadium"])[0][0], int)
        statement.close()


def cursors_and_copy(served):
    connection = pg8000.dbapi.connect(**where(served))
    cursor = connection.cursor()
    cursor.execute("DECLARE c SCROLL CURSOR FOR SELECT station FROM stations ORDER BY 1")
    cursor.execute("FETCH 3 FROM c")
    first = cursor.fetchall()
    cursor.execute("FETCH ABSOLUTE 1 FROM c")
    assert len(first) == 3 and tuple(cursor.fetchall()) == (first[0],), first
    out = io.BytesIO()
    cursor.execute("COPY (SELECT plan, count(*) FROM riders GROUP BY 1) TO STDOUT WITH (FORMAT csv)", stream=out)
    assert len(out.getvalue().splitlines()) >= 3
    connection.rollback()
    connection.close()


def errors_have_their_sqlstates(served):
    connection = pg8000.dbapi.connect(**where(served))
    connection.autocommit = True
    cursor = connection.cursor()
    for sql, values, sqlstate in [
        ("SELECT * FROM trips WHERE minutes > %s", (1,), "0A000"),
        ("SELECT count(*) FROM nothing", (), "42P01"),
        ("DELETE FROM trips WHERE minutes > %s", (1,), "42501"),
        ("SELECT 1 / %s", (0,), "22012"),
    ]:
        try:
            cursor.execute(sql, values)
        except pg8000.dbapi.DatabaseError as error:
            assert error.args[0]["C"] == sqlstate, (sql, error.args)
            continue
        raise AssertionError(f"answered: {sql}")
    cursor.execute("SELECT 5")
    assert tuple(cursor.fetchone()) == (5,)
    connection.close()


CHECKS = [values_of_every_kind, groups_and_parameters, prepared_statements, cursors_and_copy, errors_have_their_sqlstates]

if __name__ == "__main__":
    sys.exit(suite.run("pg8000", CHECKS, lambda served, check: check(served), suite.Served))
