#!/usr/bin/env bash
# A psql session with the demo: public and private groups, a ratio, a variable, a plan, and two refusals.
#
#   noisegate demo              in one terminal
#   examples/psql.sh            in another
#
#   PGHOST, PGPORT   where the demo listens [127.0.0.1, 6432]
set -euo pipefail

exec psql -X -v ON_ERROR_STOP=1 "host=${PGHOST:-127.0.0.1} port=${PGPORT:-6432} user=demo dbname=demo" <<'SQL'
\echo Stations are public: all of them come back. The notice says what it cost.
SELECT station, count(*), avg(fare) FROM trips GROUP BY station ORDER BY 2 DESC LIMIT 5;

\echo Home cities are private: a city comes back if enough riders live there.
SELECT city, count(*) FROM riders GROUP BY city ORDER BY 2 DESC;

\echo Above the aggregates stands ordinary SQL, at no price.
SELECT q.plan, round(100.0 * q.n / sum(q.n) OVER (), 1) AS percent
FROM (SELECT plan, count(*) AS n FROM riders GROUP BY plan) q ORDER BY 2 DESC;

\echo An answer is a number like any other: psql can keep it.
SELECT count(*) AS riders FROM riders \gset
SELECT :riders / 60 AS riders_per_station;

\echo A plan is free, and says what error to expect.
EXPLAIN SELECT date_trunc('month', started_at), avg(minutes) FROM trips GROUP BY 1;

\echo Single rows are refused, and so is writing. Neither costs anything.
\set ON_ERROR_STOP 0
SELECT rider_id, fare FROM trips;
DELETE FROM trips;
SQL
