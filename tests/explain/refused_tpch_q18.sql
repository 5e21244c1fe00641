-- --policy config/tpch.toml
-- TPC-H Q18: each row is one order of one customer.
SELECT c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity)
FROM customer, orders, lineitem
WHERE c_custkey = o_custkey AND o_orderkey = l_orderkey
GROUP BY c_custkey, o_orderkey, o_orderdate, o_totalprice HAVING sum(l_quantity) > 300
