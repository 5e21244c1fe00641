-- --policy config/bikes.toml
SELECT 1; SELECT 2
