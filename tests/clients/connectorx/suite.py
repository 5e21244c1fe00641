"""connectorx, over TLS and with a password: it reads by COPY (binary, csv) or by cursors, in parts if asked.

Prints one line for each check and, last, how many passed; the exit status says whether all did.
"""

import os
import sys
import urllib.parse

import connectorx

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import demo as suite


def url(served):
    options = urllib.parse.urlencode({"sslmode": "require", "sslrootcert": served.root})
    who = f"{served.user}:{urllib.parse.quote(served.password)}"
    # Its certificate is checked by name.
    return f"postgresql://{who}@localhost:{served.port}/{served.database}?{options}"


def each_protocol_and_result(url):
    sql = "SELECT plan, count(*) AS n, avg(birth_year) AS born FROM riders GROUP BY plan ORDER BY plan"
    for protocol in ("binary", "csv", "cursor"):
        frame = connectorx.read_sql(url, sql, protocol=protocol)
        assert list(frame.plan)[:3] == ["day", "month", "year"] and list(frame.columns) == ["plan", "n", "born"], frame
        table = connectorx.read_sql(url, sql, protocol=protocol, return_type="arrow")
        assert table.num_rows == len(frame), table


def public_tables_in_parts(url):
    sql = "SELECT station, capacity FROM stations"
    parts = connectorx.read_sql(url, sql, partition_on="capacity", partition_num=3)
    assert len(parts) == len(connectorx.read_sql(url, sql)) > 20


def private_rows_are_refused(url):
    try:
        connectorx.read_sql(url, "SELECT * FROM trips")
    except RuntimeError as error:
        assert "private rows" in str(error), error
    else:
        raise AssertionError("it was answered")


CHECKS = [each_protocol_and_result, public_tables_in_parts, private_rows_are_refused]

if __name__ == "__main__":
    sys.exit(suite.run("connectorx", CHECKS, lambda served, check: check(url(served)), suite.Served))
