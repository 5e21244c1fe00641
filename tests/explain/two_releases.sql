-- --policy config/bikes.toml
SELECT (SELECT count(*) FROM trips) * 1.0 / (SELECT count(*) FROM riders) AS trips_per_rider
