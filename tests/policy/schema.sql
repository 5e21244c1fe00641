-- What tests/wire/introspect.rs reads into schema.json, and tests/golden/policy.rs checks policies against.
-- The demo's tables.
CREATE TABLE stations (station text PRIMARY KEY, city text, capacity int);
CREATE TABLE riders (rider_id int PRIMARY KEY, birth_year int, plan text, city text, email text);
CREATE TABLE trips (
    trip_id bigint PRIMARY KEY, rider_id int NOT NULL REFERENCES riders, started_at timestamp NOT NULL,
    station text NOT NULL REFERENCES stations (station), minutes int NOT NULL, fare numeric(6,2) NOT NULL);
CREATE TABLE payments (
    payment_id bigint PRIMARY KEY, trip_id bigint, rider_id int NOT NULL, amount numeric(8,2), method text,
    paid_at timestamp);

-- TPC-H, as far as config/tpch.toml uses it.
CREATE TABLE region (r_regionkey int PRIMARY KEY, r_name char(25) NOT NULL, r_comment varchar(152));
CREATE TABLE nation (
    n_nationkey int PRIMARY KEY, n_name char(25) NOT NULL, n_regionkey int NOT NULL REFERENCES region,
    n_comment varchar(152));
CREATE TABLE customer (
    c_custkey bigint PRIMARY KEY, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL,
    c_nationkey int NOT NULL, c_phone text NOT NULL, c_acctbal numeric(15,2) NOT NULL, c_mktsegment text NOT NULL,
    c_comment varchar(117) NOT NULL);
CREATE TABLE orders (
    o_orderkey bigint PRIMARY KEY, o_custkey bigint NOT NULL, o_orderstatus text NOT NULL,
    o_totalprice numeric(15,2) NOT NULL, o_orderdate date NOT NULL, o_orderpriority text NOT NULL,
    o_clerk text NOT NULL, o_shippriority int NOT NULL, o_comment varchar(79) NOT NULL);
CREATE TABLE supplier (
    s_suppkey int PRIMARY KEY, s_name char(25) NOT NULL, s_nationkey int NOT NULL, s_acctbal numeric(15,2) NOT NULL);
CREATE TABLE part (p_partkey int PRIMARY KEY, p_name varchar(55) NOT NULL, p_retailprice numeric(15,2) NOT NULL);
CREATE TABLE partsupp (
    ps_partkey int NOT NULL, ps_suppkey int NOT NULL, ps_supplycost numeric(15,2) NOT NULL,
    PRIMARY KEY (ps_partkey, ps_suppkey));
CREATE TABLE lineitem (
    l_orderkey bigint NOT NULL REFERENCES orders, l_partkey int NOT NULL, l_suppkey int NOT NULL,
    l_linenumber int NOT NULL, l_quantity numeric(15,2) NOT NULL, l_extendedprice numeric(15,2) NOT NULL,
    l_discount numeric(15,2) NOT NULL, l_tax numeric(15,2) NOT NULL, l_returnflag text NOT NULL,
    l_linestatus text NOT NULL, l_shipdate date NOT NULL, l_commitdate date NOT NULL, l_receiptdate date NOT NULL,
    l_shipinstruct text NOT NULL, l_shipmode text NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber));

-- Everything that a key, a type or a bound can be.
CREATE SCHEMA odd;
CREATE COLLATION odd.ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TYPE odd.mood AS ENUM ('sad', 'ok', 'happy');
ALTER TYPE odd.mood ADD VALUE 'fine' BEFORE 'happy';
CREATE TYPE odd."Pair" AS (a int, b int);
CREATE DOMAIN odd.price AS numeric(8,3) NOT NULL CHECK (VALUE >= 0);
CREATE DOMAIN odd.dear AS odd.price CHECK (VALUE > 100);

CREATE TABLE odd.types (
    id int PRIMARY KEY, b bool, i2 smallint, i8 bigint, n numeric, n5 numeric(5), nneg numeric(5,-2), f4 real,
    f8 double precision, v varchar(10), c char(3), d date, ts timestamp, tz timestamptz, t time, iv interval,
    u uuid, m odd.mood, p odd."Pair", price odd.price, dear odd.dear, ints int[], j jsonb, gone int,
    ci text COLLATE odd.ci, stored int GENERATED ALWAYS AS (id * 2) STORED);
ALTER TABLE odd.types DROP COLUMN gone;

CREATE TABLE odd.keys (
    unit int NOT NULL, slot int NOT NULL, part int NOT NULL, maybe int, word text NOT NULL,
    ci text COLLATE odd.ci NOT NULL, deferred int NOT NULL UNIQUE DEFERRABLE INITIALLY IMMEDIATE, extra int,
    UNIQUE (unit, slot) INCLUDE (extra), UNIQUE (maybe));
CREATE UNIQUE INDEX partial_idx ON odd.keys (part) WHERE part > 0;
CREATE UNIQUE INDEX expression_idx ON odd.keys (lower(word));
CREATE UNIQUE INDEX pattern_idx ON odd.keys (word text_pattern_ops);
CREATE UNIQUE INDEX other_collation_idx ON odd.keys (ci COLLATE "C");
CREATE UNIQUE INDEX invalid_idx ON odd.keys (unit, part);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'odd.invalid_idx'::regclass;

CREATE TABLE odd.checks (
    unit int NOT NULL, day int NOT NULL CHECK (day BETWEEN 1 AND 7),
    kind varchar(9) NOT NULL CHECK (kind IN ('a', 'b', 'c')), level int NOT NULL CHECK (level IN (5, 1, 3)),
    score numeric(5,2) CHECK (score > 0 AND score < 99.5), hours float8 CHECK (hours >= -1.5 AND hours <= 24),
    born date CHECK (born >= '1900-01-01' AND born < DATE '2030-01-01'),
    seen timestamptz CHECK (seen >= '2020-01-01 00:00:00+00'), mood odd.mood CHECK (mood IN ('sad', 'ok')),
    half int CHECK (half >= 0), loose int CHECK (loose > 0 OR unit > 0), nulls int CHECK (nulls IN (1, NULL)),
    late int, own int, PRIMARY KEY (unit, day, kind));
ALTER TABLE odd.checks ADD CONSTRAINT late_check CHECK (late > 0) NOT VALID;
ALTER TABLE odd.checks ADD CONSTRAINT own_check CHECK (own > 0) NO INHERIT;

CREATE TABLE odd.parent (id int PRIMARY KEY, x int);
CREATE TABLE odd.child (CHECK (x > 0)) INHERITS (odd.parent);
CREATE TABLE odd.split (id int NOT NULL, at date NOT NULL, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE odd.split_2024 PARTITION OF odd.split FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE TABLE odd.secured (id int PRIMARY KEY);
ALTER TABLE odd.secured ENABLE ROW LEVEL SECURITY;
CREATE VIEW odd.seen AS SELECT id, x FROM odd.parent;
CREATE MATERIALIZED VIEW odd.kept AS SELECT id, x FROM odd.parent;
CREATE FOREIGN DATA WRAPPER nothing;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
CREATE FOREIGN TABLE odd.far (id int NOT NULL) SERVER nowhere;
CREATE TABLE odd.mixed (id int NOT NULL, at date NOT NULL) PARTITION BY RANGE (at);
CREATE FOREIGN TABLE odd.mixed_2024 PARTITION OF odd.mixed FOR VALUES FROM ('2024-01-01') TO ('2025-01-01') SERVER nowhere;
CREATE TABLE odd.ci_unit (id text COLLATE odd.ci PRIMARY KEY);
CREATE TABLE odd.two_ways (
    id int PRIMARY KEY, sender int NOT NULL REFERENCES riders, receiver int NOT NULL REFERENCES riders);
CREATE TEMP TABLE hidden_from_us (id int);

-- What a unit_path may lead along, and what it may not.
CREATE TABLE odd.step (
    id int PRIMARY KEY, trip bigint NOT NULL UNIQUE, big numeric, word text COLLATE odd.ci, station text,
    unit int, slot int, hop int, k int NOT NULL CHECK (k BETWEEN 1 AND 3), sender int REFERENCES riders,
    blob jsonb, UNIQUE (trip, k));

-- What randomised reports are stored in.
CREATE TABLE survey_reports (answer int NOT NULL);
CREATE TABLE survey_reports_batches (batch uuid PRIMARY KEY, reports int NOT NULL, left_out int NOT NULL, small boolean NOT NULL);
