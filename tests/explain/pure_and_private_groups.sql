-- --policy config/minimal.toml
SELECT plan, birth_year, birth_year % 500, count(*) FROM riders GROUP BY 1, 2, 3
