"""Qrlew: it rewrites SQL to SQL, and PostgreSQL draws the noise."""

import os

import psycopg2
import pyqrlew
from sqlalchemy import create_engine
from worker import serve

QUESTIONS = {
    "Q1": "SELECT count(*) AS a FROM people",
    "Q2": "SELECT sum(amount) AS a FROM visits",
    "Q3": "SELECT city, count(*) AS a, sum(income) AS b, avg(income) AS c FROM people GROUP BY city",
    "Q4": "SELECT department, count(DISTINCT user_id) AS a FROM people GROUP BY department",
    "Q5": "SELECT l_returnflag, l_linestatus, sum(l_quantity) AS a, sum(l_extendedprice) AS b, sum(l_extendedprice * (1 - l_discount)) AS c, "
    "sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS d, avg(l_quantity) AS e, avg(l_extendedprice) AS f, avg(l_discount) AS g, "
    "count(*) AS h FROM lineitem WHERE l_shipdate <= '1998-09-02' GROUP BY l_returnflag, l_linestatus",
    "Q6": "SELECT sum(l_extendedprice * l_discount) AS a FROM lineitem WHERE l_shipdate >= '1994-01-01' AND l_shipdate < '1995-01-01' "
    "AND l_discount >= 0.05 AND l_discount <= 0.07 AND l_quantity < 24",
    "Q7": "SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS a FROM lineitem JOIN orders ON l_orderkey = o_orderkey "
    "JOIN customer ON o_custkey = c_custkey JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name",
    "Q8": "SELECT page, count(DISTINCT user_id) AS a FROM visits GROUP BY page",
    "Q9": "SELECT median(income) AS a FROM people",
    "Q10": "SELECT date_trunc('month', ts) AS m, count(*) AS a, sum(amount) AS b FROM visits GROUP BY date_trunc('month', ts)",
}
# What a unit has in all, of rows and of groups; else Qrlew takes a share of the table for it.
BOUNDS = {
    "Q2": (50, 1), "Q5": (64, 6), "Q6": (6, 1), "Q7": (64, 1), "Q8": (24, 24), "Q10": (50, 24),
}  # fmt: skip
UNITS = [
    ("people", [], "user_id"),
    ("visits", [], "user_id"),
    ("customer", [], "c_custkey"),
    ("orders", [], "o_custkey"),
    ("lineitem", [("l_orderkey", "orders", "o_orderkey")], "o_custkey"),
]
RANGES = {
    ("people", "income"): (0, 300000), ("people", "department"): (0, 19), ("visits", "amount"): (0, 100),
    ("lineitem", "l_quantity"): (1, 50), ("lineitem", "l_extendedprice"): (0, 75000), ("lineitem", "l_discount"): (0, 0.1),
    ("lineitem", "l_tax"): (0, 0.08),
}  # fmt: skip
VALUES = {
    ("people", "city"): [f"city {i}" for i in range(50)],
    ("lineitem", "l_returnflag"): ["A", "N", "R"],
    ("lineitem", "l_linestatus"): ["F", "O"],
    ("nation", "n_name"): [f"nation {i}" for i in range(25)],
}
connection = psycopg2.connect("")
connection.autocommit = True


def described():
    host, name = os.environ["PGHOST"], os.environ["PGDATABASE"]
    engine = create_engine(f"postgresql+psycopg2://{os.environ['PGUSER']}@/{name}?host={host}")
    dataset = pyqrlew.dataset_from_database("bench", engine, "public")
    for (table, column), (low, high) in RANGES.items():
        dataset = dataset.with_range("public", table, column, low, high)
    for (table, column), values in VALUES.items():
        dataset = dataset.with_possible_values("public", table, column, values)
    return dataset


dataset = None


def answer(question):
    global dataset
    dataset = dataset or described()
    rows, groups = BOUNDS.get(question, (1, 1))
    relation = dataset.relation(QUESTIONS[question], pyqrlew.Dialect.PostgreSql)
    private = relation.rewrite_with_differential_privacy(
        dataset, UNITS, {"epsilon": 1.0, "delta": 1e-6}, max_multiplicity=float(rows), max_multiplicity_share=1.0, max_privacy_unit_groups=groups
    )
    with connection.cursor() as cursor:
        cursor.execute(private.relation().to_query(pyqrlew.Dialect.PostgreSql))
        return cursor.fetchall()


serve(answer)
