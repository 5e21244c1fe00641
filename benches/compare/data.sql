-- What benches/compare/run asks about. :people people, :visits visits, :pages pages, :orders orders with four items each.
-- Use is skewed: a tenth of the people make a third of the visits, and a few pages have most of them.
SELECT setseed(0.15);
CREATE TABLE people (
    user_id bigint PRIMARY KEY, city text NOT NULL, department int NOT NULL, income float8 NOT NULL
);
INSERT INTO people
SELECT i, 'city ' || floor(50 * random() * random()), floor(20 * random()), exp(9 + 1.5 * random() + random())
FROM generate_series(1, :people) AS i;
CREATE TABLE visits (user_id bigint NOT NULL, ts timestamp NOT NULL, page text NOT NULL, amount float8 NOT NULL);
INSERT INTO visits
SELECT ceil(:people * power(random(), 2)),
    timestamp '2023-01-01' + random() * interval '730 days' * 0.99999,
    'page ' || floor(:pages * power(random(), 3)),
    50 * random() + 50 * random()
FROM generate_series(1, :visits);

-- TPC-H's tables as far as its queries 1 and 6, and one over nations, read them; drawn here, and not by its generator.
CREATE TABLE nation (n_nationkey int PRIMARY KEY, n_name text NOT NULL);
INSERT INTO nation SELECT i, 'nation ' || i FROM generate_series(0, 24) AS i;
CREATE TABLE customer (c_custkey bigint PRIMARY KEY, c_nationkey int NOT NULL REFERENCES nation);
INSERT INTO customer SELECT i, floor(25 * random()) FROM generate_series(1, greatest(:orders / 10, 1)) AS i;
CREATE TABLE orders (o_orderkey bigint PRIMARY KEY, o_custkey bigint NOT NULL REFERENCES customer, o_orderdate date NOT NULL);
INSERT INTO orders
SELECT i, ceil(greatest(:orders / 10, 1) * random()), date '1992-01-01' + floor(2400 * random())::int
FROM generate_series(1, :orders) AS i;
CREATE TABLE lineitem (
    l_orderkey bigint NOT NULL REFERENCES orders, l_linenumber int NOT NULL, l_quantity numeric(15, 2) NOT NULL,
    l_extendedprice numeric(15, 2) NOT NULL, l_discount numeric(15, 2) NOT NULL, l_tax numeric(15, 2) NOT NULL,
    l_returnflag text NOT NULL, l_linestatus text NOT NULL, l_shipdate date NOT NULL,
    PRIMARY KEY (l_orderkey, l_linenumber)
);
INSERT INTO lineitem
SELECT o.o_orderkey, n, ceil(50 * random()), round((900 + 2000 * random())::numeric * ceil(50 * random())::numeric / 2, 2),
    floor(11 * random()) / 100, floor(9 * random()) / 100, (ARRAY['A', 'N', 'R'])[1 + floor(3 * random())::int],
    (ARRAY['F', 'O'])[1 + floor(2 * random())::int], o.o_orderdate + ceil(120 * random())::int
FROM orders AS o, generate_series(1, 4) AS n;
CREATE INDEX ON orders (o_custkey);
VACUUM (ANALYZE, FREEZE);
