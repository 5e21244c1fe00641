"""SmartNoise SQL: it rewrites and runs SQL, and adds noise in Python. One ε is meant for each of its mechanisms, so that it is
asked what a statement costs, and given as much less."""

import psycopg2
import snsql
from worker import serve

EPSILON, DELTA = 1.0, 1e-6
PEOPLE = {
    "max_ids": 1,
    "user_id": {"type": "int", "private_id": True},
    "city": {"type": "string"},
    "department": {"type": "int"},
    "income": {"type": "float", "lower": 0, "upper": 300000},
}
VISITS = {
    "max_ids": 50,
    "user_id": {"type": "int", "private_id": True},
    "page": {"type": "string"},
    "ts": {"type": "datetime"},
    "amount": {"type": "float", "lower": 0, "upper": 100},
}
LINEITEM = {
    "max_ids": 64,
    "l_orderkey": {"type": "int"},
    "l_quantity": {"type": "float", "lower": 1, "upper": 50},
    "l_extendedprice": {"type": "float", "lower": 0, "upper": 75000},
    "l_discount": {"type": "float", "lower": 0, "upper": 0.1},
    "l_tax": {"type": "float", "lower": 0, "upper": 0.08},
    "l_returnflag": {"type": "string"},
    "l_linestatus": {"type": "string"},
    "l_shipdate": {"type": "datetime"},
}
TABLES = {"bench": {"public": {"people": PEOPLE, "visits": VISITS, "lineitem": LINEITEM}}}
QUESTIONS = {
    "Q1": "SELECT COUNT(*) FROM public.people",
    "Q2": "SELECT SUM(amount) FROM public.visits",
    "Q3": "SELECT city, COUNT(*), SUM(income), AVG(income) FROM public.people GROUP BY city",
    "Q4": "SELECT department, COUNT(DISTINCT user_id) FROM public.people GROUP BY department",
    # lineitem has no column with the unit, and sums of products are none of its own.
    "Q5": "SELECT l_returnflag, l_linestatus, SUM(l_quantity), SUM(l_extendedprice), SUM(l_extendedprice * (1 - l_discount)), "
    "SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)), AVG(l_quantity), AVG(l_extendedprice), AVG(l_discount), COUNT(*) "
    "FROM public.lineitem WHERE l_shipdate <= '1998-09-02' GROUP BY l_returnflag, l_linestatus",
    "Q6": "SELECT SUM(l_extendedprice * l_discount) FROM public.lineitem WHERE l_quantity < 24",
    "Q7": "SELECT n_name, SUM(l_extendedprice * (1 - l_discount)) FROM public.lineitem JOIN public.orders ON l_orderkey = o_orderkey "
    "JOIN public.customer ON o_custkey = c_custkey JOIN public.nation ON c_nationkey = n_nationkey GROUP BY n_name",
    "Q8": "SELECT page, COUNT(DISTINCT user_id) FROM public.visits GROUP BY page",
    "Q9": "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY income) FROM public.people",
    "Q10": "SELECT date_trunc('month', ts), COUNT(*), SUM(amount) FROM public.visits GROUP BY 1",
}
connection = psycopg2.connect("")


def answer(question):
    sql = QUESTIONS[question]

    def reader(epsilon, delta):
        privacy = snsql.Privacy(epsilon=epsilon, delta=delta)
        return snsql.from_connection(connection, privacy=privacy, metadata=TABLES, engine="postgres")

    epsilon, delta = reader(EPSILON, DELTA).get_privacy_cost(sql)
    return reader(EPSILON * EPSILON / epsilon, DELTA * DELTA / max(delta, DELTA)).execute(sql)[1:]


serve(answer)
