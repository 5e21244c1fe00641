#!/usr/bin/env bash
# The first ten minutes: from a database of your own to a private answer in Python, with every command you would type.
#
#   examples/ten_minutes.sh postgres://superuser@127.0.0.1:5432/shop
#
# The database is one you may try things in: this makes a small shop in it (tables, rows, two logins), writes a policy
# for it in a new folder, and asks a question. At its end it removes what it made, so that it can run again. NOISEGATE is
# the program [target/release/noisegate, built if missing], PYTHON one with psycopg [python3].
set -euo pipefail
cd "$(dirname "$0")/.."

admin="${1:?usage: examples/ten_minutes.sh postgres://superuser@host:port/database}"
python="${PYTHON:-python3}"
noisegate="${NOISEGATE:-target/release/noisegate}"
say() { printf '\n# %s\n' "$*"; }
ask() { psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 "$admin" "$@"; }

# What is missing, all of it, before anything is made.
missing=()
command -v psql >/dev/null || missing+=("psql: apt-get install postgresql-client")
"$python" -c 'import psycopg' 2>/dev/null || missing+=("psycopg for $python: $python -m pip install 'psycopg[binary]'")
[[ -x "$noisegate" ]] || command -v cargo >/dev/null || missing+=("noisegate, or cargo to build it: rustup.rs")
if ((${#missing[@]} == 0)); then
    # Nothing that is there is touched: not in the database, and not among the server's roles.
    taken="$(ask --tuples-only --no-align <<'SQL'
SELECT 'another ' || kind || ', since there is one called ' || string_agg(name, ', ')
FROM (SELECT 'database', c.relname FROM pg_class c WHERE pg_table_is_visible(c.oid)
        AND c.relname IN ('countries', 'customers', 'orders', 'order_items')
      UNION ALL SELECT 'database', t.typname FROM pg_type t WHERE pg_type_is_visible(t.oid) AND t.typname = 'status'
      UNION ALL SELECT 'server', rolname FROM pg_roles WHERE rolname IN ('noisegate', 'noisegate_finish')) AS t (kind, name)
GROUP BY kind ORDER BY kind
SQL
    )" || missing+=("a database that $admin leads to")
    [[ -z "$taken" ]] || while read -r line; do missing+=("$line"); done <<<"$taken"
fi
if ((${#missing[@]} > 0)); then
    printf 'Missing here:\n' >&2
    printf '  %s\n' "${missing[@]}" >&2
    exit 1
fi

folder="$(mktemp -d)"
server=
cleanup() {
    [[ -z "$server" ]] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
    rm -rf "$folder"
    ask <<'SQL' || true
SET client_min_messages = warning;
DROP TABLE IF EXISTS order_items, orders, customers, countries;
DROP TYPE IF EXISTS status;
DO $$ DECLARE login name; BEGIN
    FOR login IN SELECT rolname FROM pg_roles WHERE rolname IN ('noisegate', 'noisegate_finish') LOOP
        EXECUTE format('DROP OWNED BY %I; DROP ROLE %I', login, login);
    END LOOP;
END $$;
SQL
}
trap cleanup EXIT

say "1. Install: one program."
[[ -x "$noisegate" ]] || cargo build --release
"$noisegate" --version

say "A shop to protect: customers, their orders, what is in them. Countries are nobody's secret."
ask <<'SQL'
CREATE TYPE status AS ENUM ('new', 'paid', 'sent', 'returned');
CREATE TABLE countries (country text PRIMARY KEY, name text NOT NULL);
CREATE TABLE customers (
    customer_id int PRIMARY KEY,
    email text NOT NULL,
    country text NOT NULL REFERENCES countries,
    born date CHECK (born BETWEEN '1900-01-01' AND '2020-12-31'));
CREATE TABLE orders (
    order_id bigint PRIMARY KEY,
    customer_id int NOT NULL REFERENCES customers,
    ordered_at timestamptz NOT NULL,
    status status NOT NULL,
    total numeric(10,2) NOT NULL CHECK (total >= 0));
CREATE TABLE order_items (
    order_id bigint NOT NULL REFERENCES orders,
    line int NOT NULL,
    quantity int NOT NULL CHECK (quantity BETWEEN 1 AND 100),
    PRIMARY KEY (order_id, line));
INSERT INTO countries VALUES ('DE', 'Germany'), ('FR', 'France'), ('NL', 'The Netherlands');
INSERT INTO customers SELECT i, i || '@example.org', (ARRAY['DE', 'FR', 'NL'])[1 + i % 3], date '1950-01-01' + i * 5
    FROM generate_series(1, 3000) i;
INSERT INTO orders SELECT i, 1 + i % 3000, timestamptz '2024-01-01' + i * interval '50 minutes',
    (enum_range(NULL::status))[1 + i % 4], 5 + i % 90 FROM generate_series(1, 10000) i;
INSERT INTO order_items SELECT 1 + i % 10000, i / 10000, 1 + i % 9 FROM generate_series(1, 25000) i;
SQL

say "2. Init: a starter policy from the catalogs; no row is read."
"$noisegate" init --backend "$admin" --unit customers.customer_id --public countries --output "$folder/policy.toml"
grep TODO "$folder/policy.toml"

say "What only a human knows: which ranges are plausible, whoever the customers are. Here: orders of 2024, up to 100.00."
sed -i \
    -e '/^bounds = "unmeasured"/d' \
    -e 's|^columns.ordered_at = .*|columns.ordered_at = { range = [2024-01-01, 2024-12-31] }|' \
    -e 's|^columns.total = .*|columns.total = { range = [0, 100], grid = 0.01 }|' \
    -e 's|^listen = .*|listen = ["127.0.0.1:0"]|' \
    "$folder/policy.toml"

say "The two logins: the statements stand at the end of the policy; the passwords are mine."
export READER="${READER:-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')}" FINISH="${FINISH:-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')}"
sed -n 's/^# \(\(CREATE ROLE\|ALTER ROLE\|REVOKE\|GRANT\) .*;\)$/\1/p' "$folder/policy.toml" |
    sed -e "s/'first password'/'$READER'/" -e "s/'second password'/'$FINISH'/" | ask
# In the policy stand the names of the variables, never their values.
sed -i -e 's|//noisegate@|//noisegate:${READER}@|' -e 's|//noisegate_finish@|//noisegate_finish:${FINISH}@|' "$folder/policy.toml"

say "3. A user, who proves a password that is kept nowhere."
{ echo; printf 'correct horse battery\n' | "$noisegate" passwd --stdin ada; } >>"$folder/policy.toml"

say "4. Check: the policy, proven against the database."
"$noisegate" check --policy "$folder/policy.toml" --write-schema

say "5. How many rows a customer has is measured once, for everybody: answers then say what they leave out. Serve."
"$noisegate" budget create --policy "$folder/policy.toml"
"$noisegate" profile --policy "$folder/policy.toml" --yes
"$noisegate" serve --policy "$folder/policy.toml" >"$folder/out" &
server=$!
until grep -q '^listening on ' "$folder/out"; do
    kill -0 "$server" || exit 1
    sleep 0.1
done
address="$(sed -n 's/^listening on //p' "$folder/out")"
echo "listening on $address"

say "6. Ask, from Python."
ADDRESS="$address" "$python" - <<'PYTHON'
import datetime
import os

import psycopg

host, _, port = os.environ["ADDRESS"].rpartition(":")
with psycopg.connect(host=host, port=port, user="ada", password="correct horse battery", dbname="shop", autocommit=True) as c:
    c.add_notice_handler(lambda notice: print(f"-- {notice.message_primary}"))
    since = datetime.datetime(2024, 6, 1, tzinfo=datetime.timezone.utc)
    question = """
        SELECT c.country, count(*) AS orders, noisegate.low(count(*)), noisegate.high(count(*)),
            avg(o.total), noisegate.low(avg(o.total)), noisegate.high(avg(o.total))
        FROM orders o JOIN customers c USING (customer_id)
        WHERE o.ordered_at >= %s AND o.status = ANY(%s)
        GROUP BY c.country ORDER BY orders DESC"""
    # Each number with the two between which it lies 95 times in 100.
    for row in c.execute(question, [since, ["paid", "sent"]]):
        print("{}: {} orders ({:.0f} to {:.0f}), average {:.2f} ({:.2f} to {:.2f})".format(*row))
    try:
        c.execute("SELECT customer_id, total FROM orders")
    except psycopg.Error as refused:
        print(f"-- refused: {refused.diag.message_primary}")
    for name, left in c.execute("SELECT name, answers_left FROM noisegate.budget ORDER BY 1"):
        print(f"{name}: {left} more answers of this price")
PYTHON

say "7. What it cost stands in the books."
"$noisegate" budget show --policy "$folder/policy.toml"

say "Removed again: the shop, its two logins, and the folder with the policy and the books."
