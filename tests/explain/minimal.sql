-- --policy config/minimal.toml
SELECT plan, count(*) FROM riders GROUP BY 1
