-- What a real schema may have: quoted names, several schemas, partitions, inheritance, composite keys, self references,
-- cycles, several ways to the unit, domains, generated columns, views, row security, open functions.
CREATE SCHEMA "Odd Schema";
CREATE SCHEMA archive;
CREATE TYPE mood AS ENUM ('sad', 'it''s "ok"', 'happy');
CREATE DOMAIN cents AS bigint CHECK (VALUE >= 0);
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);

CREATE TABLE "User Accounts" (
    "Account Id" bigint PRIMARY KEY, "E-Mail" text NOT NULL UNIQUE, invited_by bigint REFERENCES "User Accounts",
    born date CHECK (born BETWEEN '1900-01-01' AND '2020-12-31'), mood mood NOT NULL, vip boolean, balance cents,
    score numeric(5,2) CHECK (score BETWEEN 0 AND 99.5), level smallint CHECK (level >= 1 AND level < 8),
    tier text CHECK (tier IN ('gold', 'sil"ver')), handle text COLLATE nocase, doc jsonb, seen inet,
    double_score numeric(6,2) GENERATED ALWAYS AS (score * 2) STORED, ratio float8 CHECK (ratio BETWEEN 0 AND 1),
    favourite bigint);
-- Directly, and partitioned.
CREATE TABLE events (
    event_id bigint NOT NULL, account bigint NOT NULL REFERENCES "User Accounts", at timestamptz NOT NULL,
    kind text NOT NULL, amount numeric NOT NULL, PRIMARY KEY (event_id, at)) PARTITION BY RANGE (at);
CREATE TABLE events_2024 PARTITION OF events FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE TABLE events_2025 PARTITION OF events FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
-- By two tables; the table between can be missing.
CREATE TABLE "Odd Schema".orders (
    order_id int PRIMARY KEY, buyer bigint REFERENCES "User Accounts", total numeric(10,2) NOT NULL,
    "strange ""column"".name" int, "line
break" int);
CREATE TABLE items (
    order_id int NOT NULL REFERENCES "Odd Schema".orders, line int NOT NULL CHECK (line BETWEEN 1 AND 9),
    product int, price real, PRIMARY KEY (order_id, line));
-- A key of several columns: with the unit in it, and without.
CREATE TABLE memberships (
    account bigint NOT NULL REFERENCES "User Accounts", club int NOT NULL, since date, PRIMARY KEY (account, club));
CREATE TABLE visits (
    member bigint NOT NULL, club int NOT NULL, day date NOT NULL, spent numeric(8,2),
    FOREIGN KEY (member, club) REFERENCES memberships);
CREATE TABLE item_notes (
    order_id int NOT NULL, line int NOT NULL, note text, FOREIGN KEY (order_id, line) REFERENCES items);
-- By two columns together, neither of which is the unit.
CREATE TABLE accounts_by_region (
    region text NOT NULL, number int NOT NULL, owner bigint NOT NULL REFERENCES "User Accounts",
    PRIMARY KEY (region, number));
CREATE TABLE statements (
    region text NOT NULL, number int NOT NULL, amount numeric(9,2),
    FOREIGN KEY (region, number) REFERENCES accounts_by_region);
-- Two ways, and two persons.
CREATE TABLE messages (
    id uuid PRIMARY KEY, sender bigint NOT NULL REFERENCES "User Accounts", receiver bigint REFERENCES "User Accounts",
    about int REFERENCES "Odd Schema".orders, length int NOT NULL);
-- By its e-mail address, which is a key but not the unit.
CREATE TABLE newsletters (address text NOT NULL REFERENCES "User Accounts" ("E-Mail"), opened int NOT NULL);
-- A cycle that hangs on nothing, and one that leads to the unit.
CREATE TABLE chicken (id int PRIMARY KEY, egg int);
CREATE TABLE egg (id int PRIMARY KEY, chicken int REFERENCES chicken);
ALTER TABLE chicken ADD FOREIGN KEY (egg) REFERENCES egg;
CREATE TABLE devices (id int PRIMARY KEY, owner bigint REFERENCES "User Accounts", current_session int);
CREATE TABLE sessions (id int PRIMARY KEY, device int NOT NULL REFERENCES devices);
ALTER TABLE devices ADD FOREIGN KEY (current_session) REFERENCES sessions;
ALTER TABLE "User Accounts" ADD FOREIGN KEY (favourite) REFERENCES "User Accounts";
-- Of another type than the unit, and without a foreign key.
CREATE TABLE imports ("Account Id" bigint, raw text);
-- The same name twice, a parent by inheritance, views, row security, public tables.
CREATE TABLE archive.events (event_id bigint PRIMARY KEY, account bigint REFERENCES "User Accounts");
CREATE TABLE parent (id int PRIMARY KEY, account bigint NOT NULL REFERENCES "User Accounts", x int);
CREATE TABLE child (y int) INHERITS (parent);
CREATE VIEW rich AS SELECT * FROM "User Accounts" WHERE balance > 1000000;
CREATE TABLE secured (id int PRIMARY KEY, account bigint REFERENCES "User Accounts");
ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
CREATE TABLE clubs (club int PRIMARY KEY, name text NOT NULL);
ALTER TABLE memberships ADD FOREIGN KEY (club) REFERENCES clubs;
CREATE TABLE products (product int PRIMARY KEY, title text);
ALTER TABLE items ADD FOREIGN KEY (product) REFERENCES products;
-- What everybody may do.
GRANT SELECT ON rich, imports TO PUBLIC;
CREATE FUNCTION peek(int, text) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM "User Accounts"';
