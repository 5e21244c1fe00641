"""psycopg 3, over TLS and with a password, in its usual ways: simple queries, parameters, prepared statements, binary
results, pipelines, transactions.

Prints one line for each check and, last, how many passed; the exit status says whether all did.
"""

import datetime
import decimal
import os
import subprocess
import sys

import psycopg

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import demo as suite


def connect(demo, **more):
    return psycopg.connect(
        host=demo.host,
        port=demo.port,
        user=demo.user,
        password=demo.password,
        dbname=demo.database,
        sslmode="verify-full",
        sslrootcert=demo.root,
        channel_binding="require",
        connect_timeout=10,
        **more,
    )


def simple(demo):
    """A connection that sends simple queries only."""
    # ClientCursor binds on the client's side.
    return connect(demo, autocommit=True, prepare_threshold=None, cursor_factory=psycopg.ClientCursor)


def a_statement_without_tables(connection):
    assert connection.execute("SELECT 1 + 1").fetchone() == (2,)


def groups_come_with_names_types_and_order(connection):
    cursor = connection.execute(
        "SELECT station, count(*), avg(fare) FROM trips GROUP BY station ORDER BY 2 DESC LIMIT 5"
    )
    assert [column.name for column in cursor.description] == ["station", "count", "avg"]
    rows = cursor.fetchall()
    assert len(rows) == 5, rows
    counts = [row[1] for row in rows]
    assert all(isinstance(count, int) for count in counts), rows
    assert counts == sorted(counts, reverse=True), rows


def a_count_is_near_the_truth(connection):
    # 1,000 riders at this scale, one row each: noise of scale 10 is off by 300 once in ten million million times.
    (riders,) = connection.execute("SELECT count(*) FROM riders").fetchone()
    assert abs(riders - 1000) < 300, riders


def public_groups_are_all_there(connection):
    rows = connection.execute("SELECT plan, count(*) FROM riders GROUP BY plan ORDER BY plan").fetchall()
    assert [row[0] for row in rows if row[0] is not None] == ["day", "month", "year"], rows


def charged(notice):
    """What was charged; other notices read the noisy values, and come or not."""
    return [notice.message_primary] if notice.message_primary.startswith("spent ") else []


def a_charged_statement_is_noticed(connection):
    notices = []
    connection.add_notice_handler(lambda notice: notices.extend(charged(notice)))
    connection.execute("SELECT count(*) FROM riders WHERE birth_year < 1980").fetchone()
    assert len(notices) == 1, notices


def explain_is_free(connection):
    notices = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    plan = connection.execute("EXPLAIN SELECT avg(minutes) FROM trips").fetchall()
    assert plan and not notices, (plan, notices)


def rows_are_refused(connection):
    for sql in ("SELECT rider_id, fare FROM trips", "SELECT * FROM riders LIMIT 1"):
        try:
            connection.execute(sql)
        except psycopg.Error as error:
            assert error.sqlstate, error
        else:
            raise AssertionError(f"answered: {sql}")


def writing_is_refused(connection):
    for sql in ("DELETE FROM trips", "CREATE TABLE mine (x int)", "UPDATE stations SET capacity = 0"):
        try:
            connection.execute(sql)
        except psycopg.Error as error:
            assert error.sqlstate in ("42501", "0A000"), (sql, error.sqlstate)
        else:
            raise AssertionError(f"answered: {sql}")


def an_error_in_a_transaction_fails_the_rest_of_it(connection):
    connection.execute("BEGIN")
    for sql, sqlstate in (("SELECT nonsense FROM riders", "42703"), ("SELECT 1", "25P02")):
        try:
            connection.execute(sql)
        except psycopg.Error as error:
            assert error.sqlstate == sqlstate, (sql, error.sqlstate)
        else:
            raise AssertionError(f"answered: {sql}")
    connection.execute("ROLLBACK")
    assert connection.execute("SELECT 1").fetchone() == (1,)


def named_cursors_and_copy(connection):
    with connection.transaction():
        with connection.cursor("stations", scrollable=True) as cursor:
            cursor.execute("SELECT station, capacity FROM stations WHERE capacity > %s ORDER BY 1", (10,))
            first = cursor.fetchmany(3)
            cursor.scroll(0, mode="absolute")
            cursor.itersize = 7
            rows = list(cursor)
        assert len(rows) > 20 and rows[:3] == first and isinstance(rows[0][1], int), rows
        with connection.cursor("binary", binary=True) as cursor:
            assert cursor.execute("SELECT 1.5, now()").fetchone()[0] == decimal.Decimal("1.5")
    with connection.cursor().copy("COPY (SELECT station, capacity FROM stations ORDER BY 1) TO STDOUT") as copy:
        copied = [(station, int(capacity)) for station, capacity in copy.rows()]
    assert set(rows) < set(copied), copied
    binary = "COPY (SELECT plan, count(*) FROM riders GROUP BY 1) TO STDOUT (FORMAT binary)"
    with connection.cursor().copy(binary) as copy:
        copy.set_types(["text", "int8"])
        assert all(isinstance(count, int) for _, count in copy.rows())


def the_example_runs(connection):
    example = os.path.join(os.path.dirname(__file__), "../../../examples/psycopg_example.py")
    info = connection.info
    environment = os.environ | {"PGHOST": info.host, "PGPORT": str(info.port), "PGPASSWORD": info.password}
    environment |= {"PGSSLMODE": "verify-full", "PGSSLROOTCERT": info.get_parameters()["sslrootcert"]}
    run = subprocess.run(
        [sys.executable, example], env=environment, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    # What was asked in this demo before is free.
    charged, free = run.stdout.count("(spent "), run.stdout.count("(answered from an earlier")
    assert charged >= 1 and charged + free == 2, run.stdout
    assert "a query that returns private rows is not supported" in run.stdout, run.stdout


def parameters_of_every_kind(demo):
    with connect(demo) as connection:
        day = datetime.date(2024, 2, 29)
        moment = datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc)
        values = [True, 7, 2**40, 1.5, decimal.Decimal("12.340"), "it's ä", day, moment, None, [1, 2]]
        types = ["bool", "int4", "int8", "float8", "numeric", "text", "date", "timestamptz", "text"]
        for value, ty in zip(values, types):
            row = connection.execute(f"SELECT %s::{ty}", [value]).fetchone()
            assert row == (value,), (row, value)
        one, many = connection.execute("SELECT %(n)s::int4, %(n)s::int4 = ANY(%(list)s)", {"n": 2, "list": [1, 2]}).fetchone()
        assert (one, many) == (2, True)


def parameters_filter_private_rows(demo):
    with connect(demo, autocommit=True) as connection:
        sql = "SELECT station, count(*) FROM trips WHERE minutes BETWEEN %s AND %s AND station = ANY(%s) GROUP BY station"
        rows = connection.execute(sql, [5, 60, ["Central", "Harbour"]]).fetchall()
        assert len(rows) == 2, rows
        since = connection.execute(
            "SELECT count(*) FROM trips WHERE started_at >= %s AND started_at < %s + interval '1 year'",
            [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1)],
        ).fetchone()
        assert isinstance(since[0], int)


def statements_are_prepared_and_results_are_binary(demo):
    with connect(demo, autocommit=True, prepare_threshold=1) as connection:
        connection.execute("SET noisegate.epsilon = 0.05")
        charges = []
        connection.add_notice_handler(lambda notice: charges.extend(charged(notice)))
        for n in range(4):
            cursor = connection.execute("SELECT count(*), avg(fare) FROM trips WHERE minutes > %s", [n], binary=True)
            count, average = cursor.fetchone()
            assert isinstance(count, int) and isinstance(average, decimal.Decimal | None), (count, average)
        assert len(charges) == 4, charges
        connection.execute("DEALLOCATE ALL")


def a_pipeline_of_questions(demo):
    with connect(demo, autocommit=True) as connection, connection.pipeline():
        cursors = [connection.execute("SELECT %s::int4 * 2", [n]) for n in range(20)]
        assert [c.fetchone()[0] for c in cursors] == [2 * n for n in range(20)]


def transactions_and_savepoints(demo):
    with connect(demo) as connection:
        with connection.transaction():
            first = connection.execute("SELECT now()").fetchone()
            try:
                with connection.transaction():
                    connection.execute("SELECT nonsense FROM trips")
            except psycopg.errors.UndefinedColumn:
                pass
            assert connection.execute("SELECT now()").fetchone() == first
        connection.execute("SET timezone TO 'Asia/Tokyo'")
        connection.rollback()
        assert connection.execute("SHOW timezone").fetchone() == ("UTC",)
        connection.commit()
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        connection.deferrable = True
        assert connection.execute("SELECT 1").fetchone() == (1,)


def errors_have_their_classes(demo):
    with connect(demo, autocommit=True) as connection:
        for sql, values, error in [
            ("SELECT count(*) FROM nothing WHERE x = %s", [1], psycopg.errors.UndefinedTable),
            ("SELECT rider_id FROM trips WHERE minutes > %s", [1], psycopg.errors.FeatureNotSupported),
            ("SELECT 1 / %s", [0], psycopg.errors.DivisionByZero),
            ("SELECT count(*) FROM trips WHERE started_at > %s", ["never"], psycopg.errors.InvalidDatetimeFormat),
            ("DELETE FROM trips WHERE minutes > %s", [1], psycopg.errors.InsufficientPrivilege),
        ]:
            try:
                connection.execute(sql, values)
            except error:
                continue
            raise AssertionError(f"answered: {sql}")
        assert connection.execute("SELECT %s", ["after"]).fetchone() == ("after",)


def many_rows_and_executemany(demo):
    with connect(demo, autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.executemany("SELECT %s::int4", [(n,) for n in range(5)], returning=True)
        results = []
        while True:
            results.append(cursor.fetchone()[0])
            if not cursor.nextset():
                break
        assert results == list(range(5)), results
        stations = connection.execute("SELECT station, capacity FROM stations WHERE capacity > %s ORDER BY 1", [0]).fetchall()
        assert len(stations) > 10


SIMPLE = [
    a_statement_without_tables,
    groups_come_with_names_types_and_order,
    a_count_is_near_the_truth,
    public_groups_are_all_there,
    a_charged_statement_is_noticed,
    explain_is_free,
    rows_are_refused,
    writing_is_refused,
    an_error_in_a_transaction_fails_the_rest_of_it,
    named_cursors_and_copy,
    the_example_runs,
]

EXTENDED = [
    parameters_of_every_kind,
    parameters_filter_private_rows,
    statements_are_prepared_and_results_are_binary,
    a_pipeline_of_questions,
    transactions_and_savepoints,
    errors_have_their_classes,
    many_rows_and_executemany,
]


def one(demo, check):
    if check in EXTENDED:
        return check(demo)
    with simple(demo) as connection:
        check(connection)


if __name__ == "__main__":
    sys.exit(suite.run("psycopg", SIMPLE + EXTENDED, one, suite.Served))
