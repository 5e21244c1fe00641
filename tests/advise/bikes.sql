-- A file of statements as an analyst hands it in: what it costs, what it is worth and what would help.
SELECT count(*) FROM riders;
SELECT plan, count(*) FROM riders GROUP BY plan;
SELECT station, sum(fare), count(*) FROM trips GROUP BY station;
SELECT station, avg(fare) FROM trips GROUP BY station;
SELECT sum(fare) FROM trips;
SELECT avg(minutes) FROM trips WHERE station = 'a';
SELECT rider_id, fare FROM trips;
SELECT count(*) FROM stations;
SELECT city, count(*) FROM riders GROUP BY city;
