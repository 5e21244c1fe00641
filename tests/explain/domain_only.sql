-- --policy config/bikes.toml
SELECT DISTINCT plan FROM riders
