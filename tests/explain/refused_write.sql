-- --policy config/bikes.toml
DELETE FROM trips
