-- --policy config/bikes.toml
SELECT city, sum(capacity) FROM stations GROUP BY city
