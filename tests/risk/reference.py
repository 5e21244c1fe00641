"""Measures of a table by their definitions, for tests/program/risk.rs: everything is read and counted here, value by value.

Reads {"url", "table", "quasi", "sensitive", "unit", "population"} from standard input; "table" and "population" are as SQL names
them. Where rows have no owner and no NULL, pycanon must say the same. With an argument it loads the Adult data of the package
"fairness" into the database at that URL instead.
"""

import csv
import importlib.util
import itertools
import json
import math
import os
import sys
from collections import Counter, defaultdict

import psycopg
from psycopg import sql


def load_adult(url):
    # Only the file: the package itself wants what is not installed.
    package = os.path.dirname(importlib.util.find_spec("fairness").origin)
    path = os.path.join(package, "data", "raw", "adult.csv")
    with open(path, newline="") as file, psycopg.connect(url) as connection:
        lines = csv.DictReader(file, skipinitialspace=True)
        columns = ["age", "education", "marital-status", "occupation", "race", "sex", "hours-per-week"]
        whole = {"age", "hours-per-week"}
        declared = ", ".join('"%s" %s' % (c, "int" if c in whole else "text") for c in columns)
        connection.execute("CREATE TABLE adult (%s)" % declared)
        with connection.cursor().copy("COPY adult FROM STDIN") as copy:
            for line in lines:
                copy.write_row([int(line[c]) if c in whole else line[c] for c in columns])


def rows(connection, table, columns):
    names = sql.SQL(", ").join(sql.Identifier(c) for c in columns)
    return connection.execute(sql.SQL("SELECT {} FROM {}").format(names, sql.SQL(table))).fetchall()


def distance(ordered, values, whole, group):
    """The earth mover's distance of two distributions over values, in the order of these."""
    if not ordered:
        return sum(abs(group.get(v, 0) - whole[v]) for v in values) / 2
    moved = total = 0.0
    for v in values:
        moved += group.get(v, 0) - whole[v]
        total += abs(moved)
    return total / (len(values) - 1) if len(values) > 1 else 0.0


def last_none(value):
    return (value is None, value)


def shares(counter):
    n = sum(counter.values())
    return {v: c / n for v, c in counter.items()}


def diversity(entries):
    """Of pairs of a class and a value."""
    whole = shares(Counter(v for _, v in entries))
    values = sorted(whole, key=last_none)
    ordered = all(isinstance(v, (int, float)) for v in values if v is not None)
    groups = defaultdict(Counter)
    for key, value in entries:
        groups[key][value] += 1
    groups = [shares(g) for g in groups.values()]
    return {
        "values": len(values),
        "distinct_l": min(len(g) for g in groups),
        "entropy_l": min(math.exp(-sum(p * math.log(p) for p in g.values())) for g in groups),
        "t_closeness": max(distance(ordered, values, whole, g) for g in groups),
    }


def agrees_with_pycanon(data, asked, found):
    import pandas
    from pycanon import anonymity

    frame = pandas.DataFrame(data, columns=asked["quasi"] + asked["sensitive"])
    quasi = asked["quasi"]
    assert anonymity.k_anonymity(frame, quasi) == found["k_anonymity"]
    for name, ours in zip(asked["sensitive"], found["sensitive"]):
        assert anonymity.l_diversity(frame, quasi, [name]) == ours["distinct_l"]
        # It rounds down, as it must, but what is computed of logarithms, too.
        theirs = anonymity.entropy_l_diversity(frame, quasi, [name])
        assert theirs in (int(ours["entropy_l"] - 1e-9), int(ours["entropy_l"] + 1e-9)), (name, theirs, ours)
        if ours["values"] == 1:
            continue  # It divides by 0.
        theirs = float(anonymity.t_closeness(frame, quasi, [name]))
        assert abs(theirs - ours["t_closeness"]) < 1e-9, (name, theirs, ours)


def main(asked):
    quasi, sensitive, unit = asked["quasi"], asked["sensitive"], asked.get("unit")
    with psycopg.connect(asked["url"]) as connection:
        data = rows(connection, asked["table"], quasi + sensitive + ([unit] if unit else []))
        population = rows(connection, asked["population"], quasi) if asked.get("population") else None
    whose = (lambda i, row: row[-1]) if unit else (lambda i, row: i)
    people = [(whose(i, row), row) for i, row in enumerate(data) if whose(i, row) is not None]
    everybody = {p for p, _ in people}

    def classes(columns):
        groups = defaultdict(set)
        for person, row in people:
            groups[tuple(row[c] for c in columns)].add(person)
        return groups

    def alone(groups):
        return len({p for g in groups.values() if len(g) == 1 for p in g})

    groups = classes(range(len(quasi)))
    smallest = {}
    for g in groups.values():
        for p in g:
            smallest[p] = min(len(g), smallest.get(p, len(g)))
    found = {
        "people": len(everybody),
        "classes": len(groups),
        "k_anonymity": min(len(g) for g in groups.values()),
        "unique": alone(groups),
        "prosecutor_risk": sum(1 / n for n in smallest.values()) / len(everybody),
        "sets": [],
        "sensitive": [],
    }
    for size in range(1, len(quasi) + 1):
        for columns in itertools.combinations(range(len(quasi)), size):
            some = classes(columns)
            k = min(len(g) for g in some.values())
            found["sets"].append({"columns": sorted(quasi[c] for c in columns), "classes": len(some), "k": k, "unique": alone(some)})
    for at in range(len(quasi), len(quasi) + len(sensitive)):
        entries = {(p, row[: len(quasi)], row[at]) for p, row in people}
        found["sensitive"].append(diversity([(key, value) for _, key, value in entries]))
    if population is not None:
        there = Counter(population)
        here = {key: len(g) for key, g in groups.items()}
        of_there = [min(here.get(key, 0) / n, 1.0) for key, n in there.items()]
        found["population"] = {
            "people": len(population),
            "k_map": min(there.get(key, 0) for key in here),
            "journalist_risk": sum(n / max(there.get(key, 0), 1) for key, n in here.items()) / sum(here.values()),
            "delta_presence": {"least": min(of_there), "most": max(of_there)},
            "missing": sum(n for key, n in here.items() if key not in there),
            "exceeding_classes": sum(n > there.get(key, 0) for key, n in here.items()),
        }
    if not unit and all(v is not None for row in data for v in row):
        agrees_with_pycanon(data, asked, found)
        found["pycanon"] = True
    return found


if len(sys.argv) > 1:
    load_adult(sys.argv[1])
else:
    print(json.dumps(main(json.load(sys.stdin))))
