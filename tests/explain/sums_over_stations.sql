-- --policy config/bikes.toml --epsilon 1 --max-groups 3
SELECT station, sum(fare), count(*), count(DISTINCT rider_id)
  FROM trips
 WHERE started_at >= '2024-01-01'
 GROUP BY station
