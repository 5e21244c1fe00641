-- --policy config/tpch.toml
SELECT o_orderpriority, count(*), sum(o_totalprice) FROM orders GROUP BY 1 ORDER BY 1
