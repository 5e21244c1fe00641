#!/usr/bin/env python3
"""Asks the demo through psycopg 3 (pip install "psycopg[binary]"): answers, prices, and a refusal.

    noisegate demo                      in one terminal
    examples/psycopg_example.py         in another

PGHOST and PGPORT say where the demo listens [127.0.0.1, 6432].
"""

import os

import psycopg

connection = psycopg.connect(
    host=os.environ.get("PGHOST", "127.0.0.1"),
    port=os.environ.get("PGPORT", "6432"),
    user="demo",
    dbname="demo",
    autocommit=True,
)
# Every charged statement says what it cost and what is left.
connection.add_notice_handler(lambda notice: print(f"  ({notice.message_primary})"))

with connection:
    print("The busiest stations:")
    busiest = "SELECT station, count(*), avg(fare) FROM trips GROUP BY station ORDER BY 2 DESC LIMIT 3"
    for station, trips, fare in connection.execute(busiest):
        print(f"  {station}: about {trips} trips at {fare:.2f}")

    print("Riders by plan, born before a year of your choice:")
    by_plan = "SELECT plan, count(*) FROM riders WHERE birth_year < %s GROUP BY plan ORDER BY plan"
    for plan, riders in connection.execute(by_plan, [1980]):
        print(f"  {plan}: about {riders}")

    print("What a question would cost, for free:")
    for (line,) in connection.execute("EXPLAIN SELECT avg(minutes) FROM trips"):
        print(f"  {line}")

    print("What would show single riders is refused:")
    try:
        connection.execute("SELECT rider_id, fare FROM trips")
    except psycopg.errors.FeatureNotSupported as refusal:
        print(f"  {refusal.diag.message_primary}")
        print(f"  {refusal.diag.message_hint}")
