-- --policy config/minimal.toml
SELECT birth_year, count(*) FROM riders GROUP BY 1
