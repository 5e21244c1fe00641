"""asyncpg, over TLS and with a password: it prepares every statement, asks for binary results only, and resets a
connection with four statements in one message.

Prints one line for each check and, last, how many passed; the exit status says whether all did.
"""

import asyncio
import datetime
import decimal
import io
import os
import ssl
import sys
import uuid

import asyncpg

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import demo as suite


def where(demo):
    who = {"user": demo.user, "password": demo.password, "database": demo.database}
    context = ssl.create_default_context(cafile=demo.root)
    return {"host": demo.host, "port": demo.port, "ssl": context, "timeout": 10} | who


async def values_of_every_kind(c):
    assert await c.fetchval("SELECT 1 + 1") == 2
    day = datetime.date(2024, 2, 29)
    moment = datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc)
    for ty, value in [
        ("bool", True),
        ("int2", -3),
        ("int8", 2**40),
        ("float8", 0.1),
        ("numeric", decimal.Decimal("12.340")),
        ("text", "it's ä"),
        ("date", day),
        ("timestamptz", moment),
        ("timestamp", moment.replace(tzinfo=None)),
        ("interval", datetime.timedelta(days=1, hours=2)),
        ("uuid", uuid.UUID(int=5)),
        ("jsonb", '{"a": 1}'),
    ]:
        given = await c.fetchval(f"SELECT $1::{ty}", value) if ty != "jsonb" else value
        assert given == value, (ty, given)
    assert await c.fetchval("SELECT $1::text", None) is None


async def groups_and_averages(c):
    rows = await c.fetch(
        "SELECT station, count(*) AS n, avg(fare) FROM trips WHERE minutes > $1 GROUP BY station ORDER BY n DESC LIMIT $2", 3, 5
    )
    assert len(rows) == 5, rows
    assert list(rows[0].keys()) == ["station", "n", "avg"]
    assert isinstance(rows[0]["n"], int)


async def cursors_and_copy(c):
    stations = "SELECT station, capacity FROM stations WHERE capacity > $1 ORDER BY 1"
    async with c.transaction():
        rows = [row async for row in c.cursor(stations, 10, prefetch=7)]
        await c.execute("DECLARE d SCROLL CURSOR FOR " + stations.replace("$1", "10"))
        # It asks for binary results, of cursors as well.
        assert await c.fetch("FETCH ALL FROM d") == rows
        assert (await c.fetchrow("FETCH ABSOLUTE 2 FROM d")) == rows[1]
    copied = io.BytesIO()
    assert (await c.copy_from_query(stations, 10, output=copied, format="csv")) == f"COPY {len(rows)}"
    assert len(copied.getvalue().splitlines()) == len(rows) > 20
    copied = io.BytesIO()
    await c.copy_from_table("stations", columns=["station"], output=copied, format="binary")
    assert copied.getvalue().startswith(b"PGCOPY\n")


async def lists_are_any(c):
    rows = await c.fetch("SELECT plan, count(*) FROM riders WHERE plan = ANY($1) GROUP BY plan", ["day", "year"])
    assert sorted(r[0] for r in rows) == ["day", "year"], rows


async def prepared_statements_tell_their_types(c):
    statement = await c.prepare("SELECT count(*), sum(fare) FROM trips WHERE started_at > $1 AND minutes = $2")
    assert [p.name for p in statement.get_parameters()] == ["timestamp", "int4"]
    assert [a.type.name for a in statement.get_attributes()] == ["int8", "numeric"]
    for n in (1, 2):
        assert await statement.fetchrow(datetime.datetime(2024, 1, 1), n) is not None


async def cursors_fetch_a_few_rows_at_a_time(c):
    async with c.transaction():
        cursor = await c.cursor("SELECT station FROM stations WHERE capacity > $1 ORDER BY station", 0)
        first = await cursor.fetch(3)
        rest = await cursor.fetch(1000)
        assert len(first) == 3 and len(rest) > 5 and first[-1][0] < rest[0][0]
        seen = [r[0] async for r in c.cursor("SELECT station, count(*) FROM trips GROUP BY station ORDER BY 1", prefetch=4)]
        assert seen == sorted(seen) and len(seen) > 5


async def transactions_fail_and_recover(c):
    try:
        async with c.transaction():
            await c.execute("SET LOCAL noisegate.epsilon = 0.2")
            assert await c.fetchval("SHOW noisegate.epsilon") == "0.2"
            async with c.transaction():
                await c.fetch("SELECT nonsense FROM trips")
    except asyncpg.UndefinedColumnError:
        pass
    assert await c.fetchval("SHOW noisegate.epsilon") == "0.1"


async def refusals_have_their_classes(c):
    for sql, error in [
        ("SELECT rider_id FROM trips", asyncpg.FeatureNotSupportedError),
        ("UPDATE stations SET capacity = 1", asyncpg.InsufficientPrivilegeError),
        ("SELECT count(*) FROM nothing", asyncpg.UndefinedTableError),
    ]:
        try:
            await c.fetch(sql)
        except error:
            continue
        raise AssertionError(f"answered: {sql}")


async def a_timeout_cancels_and_leaves_the_session_usable(c):
    try:
        await c.fetch("SELECT count(*) FROM stations a, stations b, stations c, stations d, stations e, stations f", timeout=0.5)
    except asyncio.TimeoutError:
        assert await c.fetchval("SELECT 5") == 5
        return
    raise AssertionError("it was not cancelled")


async def a_pool_resets_its_connections(demo):
    async with asyncpg.create_pool(min_size=1, max_size=2, server_settings={"timezone": "Asia/Tokyo"}, **where(demo)) as pool:
        async with pool.acquire() as c:
            assert await c.fetchval("SHOW timezone") == "Asia/Tokyo"
            await c.execute("SET timezone = 'UTC'")
        for _ in range(4):
            async with pool.acquire() as c:
                assert await c.fetchval("SHOW timezone") == "Asia/Tokyo"


async def settings_are_reported(c):
    await c.execute("SET timezone = 'Europe/Paris'; SET application_name = 'suite'")
    settings = c.get_settings()
    assert settings.TimeZone == "Europe/Paris" and settings.application_name == "suite", settings
    moment = await c.fetchval("SELECT now()")
    assert moment.tzinfo is not None
    await c.execute("RESET ALL")
    assert c.get_settings().TimeZone == "UTC"


CHECKS = [
    settings_are_reported,
    values_of_every_kind,
    groups_and_averages,
    cursors_and_copy,
    lists_are_any,
    prepared_statements_tell_their_types,
    cursors_fetch_a_few_rows_at_a_time,
    transactions_fail_and_recover,
    refusals_have_their_classes,
    a_timeout_cancels_and_leaves_the_session_usable,
    a_pool_resets_its_connections,
]


async def checked(demo, check):
    if check is a_pool_resets_its_connections:
        return await check(demo)
    connection = await asyncpg.connect(**where(demo))
    try:
        await check(connection)
    finally:
        await connection.close(timeout=10)


if __name__ == "__main__":
    sys.exit(suite.run("asyncpg", CHECKS, lambda demo, check: asyncio.run(checked(demo, check)), suite.Served))
