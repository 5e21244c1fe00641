-- --policy config/bikes.toml
SELECT count(*)
  FROM trips
 WHERE fair > 3
