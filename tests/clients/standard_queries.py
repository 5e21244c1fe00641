"""TPC-H's Q1, Q5 and Q6 in their standard text, with parameters, through noisegate and of PostgreSQL itself.

PROXY and EXACT are their connection strings. The proxy's policy has a huge epsilon and bounds that do not bind, so that
both must agree: counts and sums of columns exactly, sums of products, whose grids are finer than a cent, to the cent,
averages, which are quotients, to nine digits. Adapted is one thing: groups are public, all flags in Q1 and all 25
nations in Q5, and those without rows come back with 0 or a fraction of a cent, so HAVING leaves them out.
"""

import datetime
import os
import sys
from decimal import Decimal

import psycopg

Q1 = """
    select l_returnflag, l_linestatus, sum(l_quantity) as sum_qty, sum(l_extendedprice) as sum_base_price,
        sum(l_extendedprice * (1 - l_discount)) as sum_disc_price,
        sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as sum_charge, avg(l_quantity) as avg_qty,
        avg(l_extendedprice) as avg_price, avg(l_discount) as avg_disc, count(*) as count_order
    from lineitem
    where l_shipdate <= date '1998-12-01' - %(delta)s * interval '1' day
    group by l_returnflag, l_linestatus
    having count(*) > 0
    order by l_returnflag, l_linestatus"""

Q5 = """
    select n_name, sum(l_extendedprice * (1 - l_discount)) as revenue
    from customer, orders, lineitem, supplier, nation, region
    where c_custkey = o_custkey and l_orderkey = o_orderkey and l_suppkey = s_suppkey and c_nationkey = s_nationkey
        and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = %(region)s
        and o_orderdate >= %(date)s and o_orderdate < %(date)s + interval '1' year
    group by n_name
    having sum(l_extendedprice * (1 - l_discount)) > 1
    order by revenue desc"""

Q6 = """
    select sum(l_extendedprice * l_discount) as revenue
    from lineitem
    where l_shipdate >= %(date)s and l_shipdate < %(date)s + interval '1' year
        and l_discount between %(discount)s - 0.01 and %(discount)s + 0.01 and l_quantity < %(quantity)s"""

QUESTIONS = [
    ("Q1", Q1, [{"delta": 90}, {"delta": 60}]),
    (
        "Q5",
        Q5,
        [
            {"region": "ASIA", "date": datetime.date(1994, 1, 1)},
            {"region": "EUROPE", "date": datetime.date(1996, 1, 1)},
        ],
    ),
    (
        "Q6",
        Q6,
        [
            {"date": datetime.date(1994, 1, 1), "discount": Decimal("0.06"), "quantity": 24},
            {"date": datetime.date(1995, 1, 1), "discount": Decimal("0.03"), "quantity": 25},
        ],
    ),
]


def equal(name, ours, theirs):
    if name.startswith("avg_"):
        return abs(ours - theirs) <= abs(theirs) * Decimal("1e-9")
    if name in ("sum_disc_price", "sum_charge", "revenue"):
        return abs(ours - theirs) <= Decimal("0.01")
    if isinstance(theirs, str):
        # Beside private rows a char(n) is its text, without the blanks at the end.
        theirs = theirs.rstrip(" ")
    return type(ours) is type(theirs) and ours == theirs


TEXT, BPCHAR = 25, 1042


def main():
    wrong = 0
    with psycopg.connect(os.environ["PROXY"], autocommit=True) as proxy, psycopg.connect(os.environ["EXACT"]) as exact:
        for name, sql, parameters in QUESTIONS:
            for given in parameters:
                cursors = proxy.execute(sql, given), exact.execute(sql, given)
                columns = [[c.name for c in cursor.description] for cursor in cursors]
                types = [[TEXT if c.type_code == BPCHAR else c.type_code for c in cursor.description] for cursor in cursors]
                ours, theirs = (cursor.fetchall() for cursor in cursors)
                same = columns[0] == columns[1] and types[0] == types[1] and len(ours) == len(theirs) > 0
                same = same and all(
                    equal(column, a, b) for row in zip(ours, theirs) for column, a, b in zip(columns[0], *row)
                )
                print(f"{'ok   ' if same else 'WRONG'} {name} {given}: {len(theirs)} rows")
                if not same:
                    wrong += 1
                    print(f"  noisegate:  {columns[0]} {types[0]} {ours}\n  PostgreSQL: {columns[1]} {types[1]} {theirs}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
