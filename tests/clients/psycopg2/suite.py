"""psycopg2, over TLS and with a password: it puts parameters into the statement itself and uses simple queries only.

Prints one line for each check and, last, how many passed; the exit status says whether all did.
"""

import datetime
import decimal
import io
import os
import sys
import threading

import psycopg2
import psycopg2.extensions
import psycopg2.extras
import psycopg2.pool

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import demo as suite


def where(served):
    return {
        "host": served.host,
        "port": served.port,
        "user": served.user,
        "password": served.password,
        "dbname": served.database,
        "sslmode": "verify-full",
        "sslrootcert": served.root,
        "channel_binding": "require",
    }


def a_wrong_password_is_refused(served):
    try:
        psycopg2.connect(**where(served) | {"password": "wrong"})
    except psycopg2.OperationalError as error:
        assert "password authentication failed" in str(error), error
    else:
        raise AssertionError("it connected")


def values_of_every_kind(served):
    with psycopg2.connect(**where(served)) as connection, connection.cursor() as cursor:
        assert connection.info.ssl_in_use
        day = datetime.date(2024, 2, 29)
        moment = datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc)
        values = (True, 7, 2**40, 1.5, decimal.Decimal("12.340"), "it's ä", day, moment, datetime.timedelta(hours=5), None)
        types = ("bool", "int4", "int8", "float8", "numeric", "text", "date", "timestamptz", "interval", "text")
        cursor.execute("SELECT " + ", ".join(f"%s::{ty}" for ty in types), values)
        assert cursor.fetchone() == values


def groups_and_parameters(served):
    with psycopg2.connect(**where(served)) as connection:
        with connection.cursor(cursor_factory=psycopg2.extras.DictCursor) as cursor:
            cursor.execute(
                "SELECT plan, count(*) AS n, avg(birth_year) FROM riders WHERE birth_year > %(y)s AND plan IN %(plans)s GROUP BY 1",
                {"y": 1970, "plans": ("day", "year")},
            )
            rows = cursor.fetchall()
            assert sorted(row["plan"] for row in rows) == ["day", "year"] and isinstance(rows[0]["n"], int), rows
        assert any(notice.startswith("NOTICE:  spent ") for notice in connection.notices), connection.notices


def named_cursors(served):
    with psycopg2.connect(**where(served)) as connection:
        with connection.cursor("stations", scrollable=True) as cursor:
            cursor.itersize = 7
            cursor.execute("SELECT station FROM stations WHERE capacity > %s ORDER BY 1", (10,))
            first = cursor.fetchmany(3)
            cursor.scroll(0, mode="absolute")
            rows = list(cursor)
            assert len(rows) > 20 and rows[:3] == first, rows
        with connection.cursor("kept", withhold=True) as cursor:
            cursor.execute("SELECT station, count(*) FROM trips GROUP BY 1 ORDER BY 1")
            connection.commit()
            assert len(cursor.fetchall()) > 20


def copy_out(served):
    with psycopg2.connect(**where(served)) as connection, connection.cursor() as cursor:
        out = io.StringIO()
        cursor.copy_expert("COPY (SELECT plan, count(*) FROM riders GROUP BY 1) TO STDOUT (FORMAT csv, HEADER)", out)
        lines = out.getvalue().splitlines()
        assert lines[0] == "plan,count" and len(lines) >= 4, lines
        out = io.StringIO()
        cursor.copy_to(out, "stations", columns=("station", "city"))
        assert len(out.getvalue().splitlines()) > 20
        try:
            cursor.copy_to(io.StringIO(), "trips")
        except psycopg2.errors.FeatureNotSupported:
            return
        raise AssertionError("rows of a private table were copied")


def prepared_statements(served):
    with psycopg2.connect(**where(served)) as connection, connection.cursor() as cursor:
        cursor.execute("PREPARE longer AS SELECT count(*) FROM trips WHERE minutes > $1")
        psycopg2.extras.execute_batch(cursor, "EXECUTE longer (%s)", [(5,), (6,)])
        assert isinstance(cursor.fetchone()[0], int)
        cursor.execute("DEALLOCATE longer")


def errors_have_their_classes(served):
    connection = psycopg2.connect(**where(served))
    # `with` would begin a transaction.
    connection.autocommit = True
    with connection.cursor() as cursor:
        for sql, error in [
            ("SELECT * FROM trips LIMIT 1", psycopg2.errors.FeatureNotSupported),
            ("SELECT count(*) FROM nothing", psycopg2.errors.UndefinedTable),
            ("SELECT count(nonsense) FROM trips", psycopg2.errors.UndefinedColumn),
            ("DELETE FROM trips", psycopg2.errors.InsufficientPrivilege),
            ("SELEC 1", psycopg2.errors.SyntaxError),
        ]:
            try:
                cursor.execute(sql)
            except error as caught:
                assert caught.pgcode == caught.diag.sqlstate, caught
                assert caught.diag.statement_position, sql
                continue
            raise AssertionError(f"answered: {sql}")


def a_cancel_leaves_the_session_usable(served):
    with psycopg2.connect(**where(served)) as connection, connection.cursor() as cursor:
        timer = threading.Timer(0.5, connection.cancel)
        timer.start()
        try:
            cursor.execute("SELECT count(*) FROM stations a, stations b, stations c, stations d, stations e, stations f")
        except psycopg2.errors.QueryCanceled:
            connection.rollback()
            cursor.execute("SELECT 5")
            assert cursor.fetchone() == (5,)
            return
        raise AssertionError("it was not cancelled")


def a_pool_and_reset(served):
    pool = psycopg2.pool.ThreadedConnectionPool(1, 3, **where(served))
    for _ in range(3):
        connection = pool.getconn()
        with connection.cursor() as cursor:
            cursor.execute("SET timezone = 'Asia/Tokyo'")
        connection.commit()
        connection.reset()
        with connection.cursor() as cursor:
            cursor.execute("SHOW timezone")
            assert cursor.fetchone() == ("UTC",)
        pool.putconn(connection)
    pool.closeall()


def sessions_and_isolation(served):
    connection = psycopg2.connect(**where(served))
    connection.set_session(isolation_level="SERIALIZABLE", readonly=True, deferrable=True)
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT current_database(), pg_backend_pid()")
        assert cursor.fetchone() == ("demo", connection.info.backend_pid)
    connection.close()


CHECKS = [
    a_wrong_password_is_refused,
    values_of_every_kind,
    groups_and_parameters,
    named_cursors,
    copy_out,
    prepared_statements,
    errors_have_their_classes,
    a_cancel_leaves_the_session_usable,
    a_pool_and_reset,
    sessions_and_isolation,
]

if __name__ == "__main__":
    sys.exit(suite.run("psycopg2", CHECKS, lambda served, check: check(served), suite.Served))
