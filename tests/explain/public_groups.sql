-- --policy config/bikes.toml
SELECT plan, count(*), avg(birth_year) FROM riders GROUP BY plan
