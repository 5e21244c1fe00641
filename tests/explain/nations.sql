-- --policy config/tpch.toml
SELECT n.n_name, count(*), avg(c.c_acctbal)
  FROM customer c JOIN nation n ON n.n_nationkey = c.c_nationkey GROUP BY n.n_name
