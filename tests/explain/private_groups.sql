-- --policy config/bikes.toml
SELECT city, count(*) FROM riders GROUP BY city ORDER BY 2 DESC LIMIT 5
