"""SQLAlchemy with psycopg, psycopg2 and pg8000, over TLS and with a password.

Prints one line for each check and, last, how many passed; the exit status says whether all did.
"""

import datetime
import decimal
import os
import ssl
import sys

import sqlalchemy as sa

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import demo as suite

DRIVERS = ["psycopg", "psycopg2", "pg8000"]


def engine(served, driver, **more):
    url = sa.URL.create(
        f"postgresql+{driver}", served.user, served.password, served.host, served.port, served.database
    )
    libpq = {"sslmode": "verify-full", "sslrootcert": served.root}
    arguments = {"ssl_context": ssl.create_default_context(cafile=served.root)} if driver == "pg8000" else libpq
    return sa.create_engine(url, connect_args=arguments, **more)


def the_inspector_sees_what_the_policy_shows(engine):
    seen = sa.inspect(engine)
    assert set(seen.get_table_names()) == {"riders", "trips", "payments", "stations"}, seen.get_table_names()
    assert set(seen.get_schema_names()) == {"information_schema", "noisegate", "public"}
    assert "budget" in seen.get_view_names(schema="noisegate")
    columns = {column["name"]: column for column in seen.get_columns("trips")}
    assert isinstance(columns["minutes"]["type"], sa.INTEGER) and isinstance(columns["started_at"]["type"], sa.TIMESTAMP)
    assert columns["rider_id"]["comment"] == "noisegate: the unit" and not columns["rider_id"]["nullable"]
    assert seen.get_pk_constraint("riders")["constrained_columns"] == ["rider_id"]
    assert seen.get_foreign_keys("trips")[0]["referred_table"] == "riders"
    assert seen.get_check_constraints("riders") == [] and not seen.has_table("nothing")
    seen.get_indexes("trips"), seen.get_unique_constraints("riders"), seen.get_table_comment("riders")


def tables_are_reflected_and_asked(engine):
    tables = sa.MetaData()
    tables.reflect(engine)
    trips, stations = tables.tables["trips"], tables.tables["stations"]
    month = sa.func.date_trunc("month", trips.c.started_at).label("month")
    question = (
        sa.select(month, sa.func.count().label("n"), sa.func.sum(trips.c.fare).label("total"))
        .where(trips.c.minutes.between(5, 60), trips.c.station.in_(["Norwick Riverside", "Norwick Stadium"]))
        # By name: a driver that numbers parameters would make two expressions of it, to PostgreSQL as well.
        .group_by("month")
        .order_by("month")
        .limit(3)
    )
    joined = (
        sa.select(stations.c.city, sa.func.avg(trips.c.fare))
        .join_from(trips, stations, trips.c.station == stations.c.station)
        .group_by(stations.c.city)
    )
    with engine.connect() as connection:
        rows = connection.execute(question).all()
        assert rows[0].month == datetime.datetime(2023, 1, 1) and isinstance(rows[0].n, int), rows
        assert all(isinstance(row.total, decimal.Decimal | None) for row in rows), rows
        assert len(connection.execute(joined).all()) > 1


def text_has_parameters(engine):
    question = sa.text("SELECT plan, count(*) AS n FROM riders WHERE birth_year > :y AND plan IN :plans GROUP BY plan")
    question = question.bindparams(sa.bindparam("plans", expanding=True))
    with engine.connect() as connection:
        for year in (1960, 1970):
            rows = connection.execute(question, {"y": year, "plans": ["day", "year"]}).mappings().all()
            assert sorted(row["plan"] for row in rows) == ["day", "year"], rows


def results_are_streamed(engine):
    with engine.connect() as connection:
        streaming = connection.execution_options(stream_results=True, max_row_buffer=7)
        result = streaming.execute(sa.text("SELECT station, capacity FROM stations ORDER BY 1"))
        sizes = [len(part) for part in result.partitions(7)]
        assert sizes[0] == 7 and sum(sizes) > 20, sizes


def errors_have_their_sqlstates(engine):
    for sql, sqlstate in [
        ("SELECT * FROM trips", "0A000"),
        ("SELECT count(*) FROM nothing", "42P01"),
        ("DELETE FROM trips", "42501"),
    ]:
        with engine.connect() as connection:
            try:
                connection.execute(sa.text(sql))
            except sa.exc.DBAPIError as error:
                cause = error.orig
                # Each driver has its own place for it.
                said = getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None) or cause.args[0]["C"]
                assert said == sqlstate, (sql, said)
                continue
        raise AssertionError(f"answered: {sql}")


def sessions_go_back_to_the_pool_clean(engine):
    for _ in range(3):
        with engine.connect() as connection:
            connection.execute(sa.text("SET timezone = 'Asia/Tokyo'"))
            assert connection.scalar(sa.text("SHOW timezone")) == "Asia/Tokyo"
        with engine.connect() as connection:
            assert connection.scalar(sa.text("SHOW timezone")) == "UTC"


def transactions_of_every_kind(engine):
    for level in ("AUTOCOMMIT", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"):
        with engine.connect().execution_options(isolation_level=level) as connection:
            assert connection.scalar(sa.text("SELECT 1")) == 1
    with engine.begin() as connection:
        savepoint = connection.begin_nested()
        try:
            connection.execute(sa.text("SELECT nonsense FROM trips"))
        except sa.exc.ProgrammingError:
            savepoint.rollback()
        assert connection.scalar(sa.text("SELECT 2")) == 2


CHECKS = [
    the_inspector_sees_what_the_policy_shows,
    tables_are_reflected_and_asked,
    text_has_parameters,
    results_are_streamed,
    errors_have_their_sqlstates,
    sessions_go_back_to_the_pool_clean,
    transactions_of_every_kind,
]


def one(served, check):
    for driver in DRIVERS:
        # Sessions are tried before use, as pools in production are told to.
        made = engine(served, driver, pool_size=1, max_overflow=0, pool_timeout=5, pool_pre_ping=True)
        try:
            check(made)
        except Exception as error:
            raise AssertionError(f"with {driver}: {error!r}") from error
        finally:
            made.dispose()


if __name__ == "__main__":
    sys.exit(suite.run("SQLAlchemy", CHECKS, one, suite.Served))
