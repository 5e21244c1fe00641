-- --policy config/tpch.toml
-- TPC-H Q20: which suppliers are there would be told by what customers ordered.
SELECT s_suppkey FROM supplier, nation
WHERE s_suppkey IN (SELECT ps_suppkey FROM partsupp WHERE ps_availqty > (SELECT 0.5 * sum(l_quantity) FROM lineitem
    WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey AND l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'))
  AND s_nationkey = n_nationkey AND n_name = 'CANADA' ORDER BY s_suppkey
