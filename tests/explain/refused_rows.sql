-- --policy config/bikes.toml
SELECT rider_id, fare FROM trips
