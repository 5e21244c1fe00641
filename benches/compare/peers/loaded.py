"""Tables in memory, for engines that read no database: the rows of each question, its keys and its values, with their unit."""

import psycopg2

LINES = "lineitem JOIN orders ON l_orderkey = o_orderkey"
NET = "l_extendedprice * (1 - l_discount)"
# Rows as unit, keys, values; how many of these are keys.
ROWS = {
    "Q1": ("SELECT user_id FROM people", 0),
    "Q2": ("SELECT user_id, amount FROM visits", 0),
    "Q3": ("SELECT user_id, city, income FROM people", 1),
    "Q4": ("SELECT user_id, department FROM people", 1),
    "Q5": (
        f"SELECT o_custkey, l_returnflag, l_linestatus, l_quantity::float8, l_extendedprice::float8, ({NET})::float8, "
        f"({NET} * (1 + l_tax))::float8, l_discount::float8 FROM {LINES} WHERE l_shipdate <= '1998-09-02'",
        2,
    ),
    "Q6": (
        f"SELECT o_custkey, (l_extendedprice * l_discount)::float8 FROM {LINES} WHERE l_shipdate >= '1994-01-01' AND "
        "l_shipdate < '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
        0,
    ),
    "Q7": (
        f"SELECT o_custkey, n_name, ({NET})::float8 FROM {LINES} JOIN customer ON o_custkey = c_custkey "
        "JOIN nation ON c_nationkey = n_nationkey",
        1,
    ),
    # Each page of a unit once.
    "Q8": ("SELECT DISTINCT user_id, page FROM visits", 1),
    "Q9": ("SELECT user_id, income FROM people", 0),
    "Q10": ("SELECT user_id, date_trunc('month', ts)::text, amount FROM visits", 1),
}
# Where values of a question lie.
RANGES = {
    "Q2": [(0, 100)], "Q3": [(0, 300000)], "Q5": [(1, 50), (0, 75000), (0, 75000), (0, 81000), (0, 0.1)], "Q6": [(0, 7500)],
    "Q7": [(0, 75000)], "Q9": [(0, 300000)], "Q10": [(0, 100)],
}  # fmt: skip
# Rows of a unit that count in one group, and groups of one unit.
BOUNDS = {
    "Q1": (1, 1), "Q2": (50, 1), "Q3": (1, 1), "Q4": (1, 1), "Q5": (12, 6), "Q6": (6, 1), "Q7": (64, 1), "Q8": (1, 24), "Q9": (1, 1),
    "Q10": (50, 24),
}  # fmt: skip
# Rows of a unit in all, where that is less.
TOTAL = {"Q5": 64, "Q8": 24, "Q10": 50}
MONTHS = [f"{year}-{month:02}-01 00:00:00" for year in (2023, 2024) for month in range(1, 13)]
GROUPS = {
    "Q3": [(f"city {i}",) for i in range(50)],
    "Q4": [(i,) for i in range(20)],
    "Q5": [(flag, status) for flag in "ANR" for status in "FO"],
    "Q7": [(f"nation {i}",) for i in range(25)],
    "Q10": [(month,) for month in MONTHS],
}


def load():
    """Rows of all questions."""
    with psycopg2.connect("") as connection, connection.cursor() as cursor:
        out = {}
        for question, (sql, _) in ROWS.items():
            cursor.execute(sql)
            out[question] = cursor.fetchall()
        return out
