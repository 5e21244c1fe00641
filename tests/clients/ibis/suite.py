"""ibis, over TLS and with a password: what it asks of the catalogs, and what its expressions become. Prints one line for each check
and, last, how many passed; the exit status says whether all did."""

import datetime
import os
import sys

import ibis
from ibis import _


def connection():
    return ibis.postgres.connect(
        host=os.environ["PGHOST"],
        port=int(os.environ["PGPORT"]),
        user=os.environ["PGUSER"],
        password=os.environ["PGPASSWORD"],
        database=os.environ["PGDATABASE"],
        sslmode="verify-full",
        sslrootcert=os.environ["PGSSLROOTCERT"],
        # So that totals of the little demo are above 0.
        options="-c noisegate.epsilon=2",
    )


def tables_and_columns_are_found(con):
    assert {"riders", "trips", "payments", "stations"} <= set(con.list_tables()), con.list_tables()
    assert "noisegate" in con.list_databases(), con.list_databases()
    schema = con.table("trips").schema()
    assert schema["started_at"].is_timestamp() and schema["minutes"].is_integer() and schema["station"].is_string(), schema
    assert schema["fare"].is_decimal() and not schema["rider_id"].nullable, schema


def groups_are_counted(con):
    riders = con.table("riders")
    found = riders.group_by("plan").agg(n=_.count(), born=_.birth_year.mean()).order_by("plan").execute()
    assert list(found["plan"]) == ["day", "month", "year"], found
    assert (found["n"] > 0).all() and found["born"].between(1920, 2010).all(), found


def totals_are_scalars(con):
    trips = con.table("trips")
    assert trips.count().execute() > 0
    assert trips.filter(_.minutes > 10).fare.sum().execute() > 0
    assert trips.rider_id.nunique().execute() > 0
    assert trips.station.like("K%").sum().execute() > 0


def months_of_a_year_are_groups(con):
    trips = con.table("trips")
    in_2024 = trips.filter(_.started_at >= datetime.datetime(2024, 1, 1), _.started_at < datetime.datetime(2025, 1, 1))
    months = in_2024.group_by(month=_.started_at.truncate("M")).agg(n=_.count()).execute()
    assert len(months) == 12, months
    days = in_2024.filter(_.started_at < ibis.timestamp("2024-02-01")).group_by(day=_.started_at.date()).agg(n=_.count()).execute()
    assert len(days) == 31, days
    years = trips.group_by(year=_.started_at.year()).agg(n=_.count()).order_by("year").execute()
    assert list(years["year"]) == [2023, 2024, 2025], years


def joins_follow_keys(con):
    trips, stations = con.table("trips"), con.table("stations")
    joined = trips.join(stations, "station").group_by("city").agg(n=_.count(), fare=_.fare.mean()).execute()
    cities = stations.select("city").distinct().execute()
    assert set(joined["city"]) == set(cities["city"]), (joined, cities)


def computed_keys_and_shares(con):
    riders = con.table("riders")
    young = riders.mutate(young=(_.birth_year > 1990).ifelse("young", "old"))
    found = young.group_by("young").agg(n=_.count()).execute()
    assert set(found["young"]) == {"young", "old"}, found
    per_plan = riders.group_by("plan").agg(n=_.count())
    shares = per_plan.mutate(share=_.n / _.n.sum()).order_by(ibis.desc("share")).limit(2).execute()
    assert len(shares) == 2 and shares["share"].between(0, 1).all(), shares


def raw_sql_and_public_rows(con):
    stations = con.table("stations").order_by("station").limit(3).execute()
    assert len(stations) == 3, stations
    # `con.sql` would make a view.
    with con.raw_sql("SELECT plan, noisegate.low(count(*)), count(*) FROM riders GROUP BY plan") as told:
        rows = told.fetchall()
    assert len(rows) == 3 and all(low <= n for _, low, n in rows), rows


def rows_are_refused(con):
    try:
        con.table("trips").limit(5).execute()
    except Exception as error:
        assert getattr(error, "sqlstate", None) == "0A000", error
        con.raw_sql("ROLLBACK") if con.con.info.transaction_status else None
    else:
        raise AssertionError("rows were given")
    assert con.table("stations").count().execute() > 20


CHECKS = [
    tables_and_columns_are_found,
    groups_are_counted,
    totals_are_scalars,
    months_of_a_year_are_groups,
    joins_follow_keys,
    computed_keys_and_shares,
    raw_sql_and_public_rows,
    rows_are_refused,
]

if __name__ == "__main__":
    failed = 0
    for check in CHECKS:
        con = connection()
        try:
            check(con)
            print(f"ok    {check.__name__}")
        except Exception as error:  # each check is judged by itself
            failed += 1
            print(f"FAIL  {check.__name__}: {error!r}")
        con.disconnect()
    print(f"ibis: {len(CHECKS) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
