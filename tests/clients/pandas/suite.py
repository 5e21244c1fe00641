"""pandas through SQLAlchemy and psycopg, over TLS and with a password.

Prints one line for each check and, last, how many passed; the exit status says whether all did.
"""

import os
import sys

import pandas
import sqlalchemy

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import demo as suite


def engine(served):
    url = sqlalchemy.URL.create(
        "postgresql+psycopg", served.user, served.password, served.host, served.port, served.database
    )
    return sqlalchemy.create_engine(url, connect_args={"sslmode": "verify-full", "sslrootcert": served.root})


def questions_become_frames(engine):
    sql = "SELECT station, count(*) AS n, avg(fare) AS fare FROM trips GROUP BY station ORDER BY n DESC LIMIT 5"
    frame = pandas.read_sql(sql, engine, index_col="station")
    assert frame.shape == (5, 2) and frame.n.dtype == "int64" and frame.fare.dtype == "float64", frame.dtypes
    assert frame.n.is_monotonic_decreasing


def parameters_and_dates(engine):
    sql = """SELECT date_trunc('month', started_at) AS month, count(*) AS n FROM trips
             WHERE minutes > %(m)s AND started_at >= %(since)s GROUP BY 1 ORDER BY 1"""
    frame = pandas.read_sql(sql, engine, params={"m": 5, "since": pandas.Timestamp("2025-01-01")})
    assert pandas.api.types.is_datetime64_any_dtype(frame.month) and len(frame) == 12, frame


def tables_are_read_in_parts(engine):
    table = pandas.read_sql_table("stations", engine, columns=["station", "capacity"])
    parts = list(pandas.read_sql("SELECT station, capacity FROM stations", engine, chunksize=10))
    assert len(table) == sum(len(part) for part in parts) > 20 and len(parts[0]) == 10


def private_tables_are_refused(engine):
    for refused in (
        lambda: pandas.read_sql_table("trips", engine),
        lambda: pandas.read_sql("SELECT * FROM trips LIMIT 5", engine),
        lambda: pandas.DataFrame({"a": [1]}).to_sql("mine", engine),
    ):
        try:
            refused()
        except (pandas.errors.DatabaseError, sqlalchemy.exc.DBAPIError) as error:
            said = str(error)
            assert "private rows" in said or "read-only" in said, said
            continue
        raise AssertionError("it was answered")


def notes_about_the_answer_are_tables(engine):
    frame = pandas.read_sql_table("columns", engine, schema="noisegate")
    assert {"trips", "riders"} <= set(frame.iloc[:, 0]) | set(frame.iloc[:, 1]), frame
    assert len(pandas.read_sql("SELECT * FROM noisegate.budget", engine)) > 0


CHECKS = [
    questions_become_frames,
    parameters_and_dates,
    tables_are_read_in_parts,
    private_tables_are_refused,
    notes_about_the_answer_are_tables,
]


def one(served, check):
    made = engine(served)
    try:
        check(made)
    finally:
        made.dispose()


if __name__ == "__main__":
    sys.exit(suite.run("pandas", CHECKS, one, suite.Served))
