-- The tables of the demo, and as many stations as it has.
CREATE TABLE stations (station text PRIMARY KEY, city text NOT NULL, capacity int NOT NULL);
CREATE TABLE riders (
    rider_id int PRIMARY KEY, birth_year int NOT NULL, plan text NOT NULL CHECK (plan IN ('day', 'month', 'year')),
    city text, email text);
CREATE TABLE trips (
    trip_id bigint PRIMARY KEY, rider_id int NOT NULL REFERENCES riders, started_at timestamp NOT NULL,
    station text NOT NULL REFERENCES stations, minutes int NOT NULL, fare numeric(6,2) NOT NULL);
CREATE TABLE payments (
    payment_id bigint PRIMARY KEY, trip_id bigint NOT NULL REFERENCES trips,
    rider_id int NOT NULL REFERENCES riders, amount numeric(8,2) NOT NULL, method text NOT NULL,
    paid_at timestamp NOT NULL);
INSERT INTO stations SELECT 'station ' || i, 'city ' || i % 5, i FROM generate_series(1, 60) i;
