-- Ninety-six riders whose rows are plain arithmetic on their numbers: the same on every machine.
CREATE TYPE gadget AS ENUM ('phone', 'tablet', 'watch');
CREATE TABLE stations (station text PRIMARY KEY, city text NOT NULL, capacity int NOT NULL);
CREATE TABLE riders (
    rider_id int PRIMARY KEY,
    birth_year int NOT NULL,
    plan text NOT NULL CHECK (plan IN ('day', 'month', 'year')),
    city text,
    email text,
    active boolean);
CREATE TABLE trips (
    trip_id bigint PRIMARY KEY,
    rider_id int NOT NULL REFERENCES riders,
    started_at timestamp NOT NULL,
    day date NOT NULL,
    station text NOT NULL REFERENCES stations,
    minutes int NOT NULL,
    fare numeric(6,2) NOT NULL,
    stars smallint,
    note text);
CREATE TABLE payments (
    payment_id bigint PRIMARY KEY,
    trip_id bigint NOT NULL REFERENCES trips,
    rider_id int NOT NULL REFERENCES riders,
    amount numeric(8,2) NOT NULL,
    method text NOT NULL,
    paid_at timestamptz NOT NULL);
-- A key and a CHECK prove that a rider has at most three rows here.
CREATE TABLE devices (
    rider_id int NOT NULL REFERENCES riders,
    slot int NOT NULL CHECK (slot BETWEEN 1 AND 3),
    kind gadget NOT NULL,
    battery float8,
    signal float4,
    version numeric,
    serial bigint,
    code char(4),
    PRIMARY KEY (rider_id, slot));
-- What an app sent: a json value for each of a rider's events.
CREATE TABLE app_events (
    event_id bigint PRIMARY KEY,
    rider_id int NOT NULL REFERENCES riders,
    addr inet NOT NULL,
    payload jsonb);

-- Three steps from the rider: a fix belongs to a leg, a leg to a trip. Some lead nowhere.
CREATE TABLE legs (
    leg_id bigint PRIMARY KEY,
    trip_id bigint,
    km numeric(5,1) NOT NULL,
    surface text NOT NULL);
CREATE TABLE fixes (
    fix_id bigint PRIMARY KEY,
    leg_id bigint,
    cost numeric(6,2) NOT NULL,
    station text);

INSERT INTO stations VALUES ('Central', 'Norwick', 40), ('Harbour', 'Norwick', 25), ('Museum', 'Eastport', 30),
    ('Airport', 'Eastport', 60), ('Depot', 'Kingsford', 10);
-- Ninety-six riders: 48 of Norwick, 24 of Eastport, 17 of Kingsford, one of Lone Elm, six of no city.
INSERT INTO riders SELECT i, 1950 + (i * 7) % 50, (ARRAY['day', 'month', 'year'])[1 + i % 3],
    CASE WHEN i = 47 THEN 'Lone Elm' WHEN i % 2 = 0 THEN 'Norwick' WHEN i % 4 = 1 THEN 'Eastport'
         WHEN i % 16 = 3 THEN NULL ELSE 'Kingsford' END,
    'rider' || i || '@example.org', CASE WHEN i % 5 = 0 THEN NULL ELSE i % 4 <> 0 END
    FROM generate_series(1, 96) i;
-- Rider i has 1 + i % 6 trips.
INSERT INTO trips SELECT i * 100 + t, i, timestamp '2023-01-01 06:00' + (i * 17 + t * 5) % 1000 * interval '1 day'
        + (i * 7 + t * 3) % 16 * interval '1 hour' + (i + t) % 60 * interval '1 minute',
    date '2023-01-01' + (i * 17 + t * 5) % 1000,
    (ARRAY['Central', 'Harbour', 'Museum', 'Airport'])[1 + (i + t) * t % 4],
    5 + (i * 13 + t * 29) % 120, 1 + ((i * 137 + t * 71) % 4500) / 100.0,
    CASE WHEN (i + t) % 4 = 0 THEN NULL ELSE 1 + (i * t) % 5 END,
    CASE WHEN i % 3 = 0 THEN '100%' WHEN i % 3 = 1 THEN 'flat_tyre' ELSE 'fine' END
    FROM generate_series(1, 96) i, generate_series(1, 1 + i % 6) t;
INSERT INTO payments SELECT trip_id, trip_id, rider_id, fare + 1,
    (ARRAY['card', 'wallet', 'cash'])[1 + trip_id % 3], (started_at + interval '1 hour') AT TIME ZONE 'UTC' FROM trips;
INSERT INTO devices SELECT i, s, (ARRAY['phone', 'tablet', 'watch'])[1 + (i + s) % 3]::gadget,
    CASE WHEN (i + s) % 7 = 0 THEN NULL ELSE (i * 11 + s * 3) % 100 + 0.25 END, ((i + s) % 40) / 4.0,
    (1 + i % 3)::numeric / 2, i * 1000000000000, 'a' || i % 2
    FROM generate_series(1, 96) i, generate_series(1, 1 + i % 3) s;
-- Rider i has 1 + i % 3 events; some have no device, some a list in its place, some no payload at all.
INSERT INTO app_events SELECT i * 10 + e, i, inet '10.0.0.0' + i % 2, CASE WHEN i % 17 = 0 THEN NULL WHEN i % 13 = 0 THEN '["ios"]'::jsonb ELSE
        jsonb_build_object('device', CASE WHEN i % 11 = 0 THEN '[1]'::jsonb
            ELSE jsonb_build_object('os', (ARRAY['ios', 'android', 'web'])[1 + (i + e) % 3], 'cores', 2 * (1 + i % 4)) END,
        'ms', (i * 37 + e * 11) % 900 / 2.0, 'ok', i % 5 <> 0, 'screen', (ARRAY['home', 'map', 'pay'])[1 + e % 3]) END
    FROM generate_series(1, 96) i, generate_series(1, 1 + i % 3) e;
-- Trip t has 1 + t % 3 legs; some legs have no trip, some one that is not there.
INSERT INTO legs SELECT trip_id * 10 + l, CASE WHEN (trip_id + l) % 11 = 0 THEN NULL WHEN (trip_id + l) % 13 = 0 THEN trip_id + 100000
        ELSE trip_id END, ((trip_id * 7 + l * 13) % 200) / 10.0, (ARRAY['road', 'path', 'gravel'])[1 + (trip_id + l) % 3]
    FROM trips, generate_series(1, 1 + trip_id % 3) l;
INSERT INTO fixes SELECT leg_id * 10 + f, CASE WHEN leg_id % 17 = 0 THEN NULL ELSE leg_id END, (leg_id * f) % 50 + 0.5,
    (ARRAY['Central', 'Depot', 'Nowhere'])[1 + leg_id % 3]
    FROM legs, generate_series(1, 2) f WHERE leg_id % 4 = 0;
