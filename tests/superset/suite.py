"""Superset: adds noisegate as a database, over TLS and with a password, syncs data sets, draws charts, imports the dashboard of
examples/, and reads their numbers back.

Each number must be the one that noisegate gives for the chart's own SQL, and near that of the database behind it. With a folder
as its argument it writes `dashboard.png` there, by headless Chromium. Prints one line for each check and, last, how many passed;
the exit status says whether all did. Run by ./run, with Superset's own Python.
"""

import datetime
import io
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import zipfile

import psycopg2
import requests

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "clients"))
import demo as suite

PATIENCE = 120


def metric(aggregate, column):
    return {"expressionType": "SIMPLE", "aggregate": aggregate, "column": {"column_name": column}, "label": f"{aggregate}({column})"}


# Monthly, on the time axis of a chart.
MONTH = {"timeGrain": "P1M", "columnType": "BASE_AXIS", "sqlExpression": "started_at", "label": "started_at", "expressionType": "SQL"}

# Name, kind, data set, what the browser keeps of it, and what it asks for.
CHARTS = [
    ("Riders", "big_number_total", "riders", {"metric": "count"}, {"columns": [], "metrics": ["count"]}),
    (
        "Trips by month",
        "echarts_timeseries_line",
        "trips",
        {"x_axis": "started_at", "time_grain_sqla": "P1M", "metrics": ["count"], "groupby": []},
        {"columns": [MONTH], "series_columns": [], "metrics": ["count"], "orderby": [["count", False]]},
    ),
    (
        "Trips of the five busiest stations",
        "echarts_timeseries_bar",
        "trips",
        {
            "x_axis": "started_at",
            "time_grain_sqla": "P1Y",
            "metrics": ["count"],
            "groupby": ["station"],
            "limit": 5,
            "timeseries_limit_metric": "count",
        },
        {
            "columns": [MONTH | {"timeGrain": "P1Y"}, "station"],
            "series_columns": ["station"],
            "metrics": ["count"],
            "series_limit": 5,
            "series_limit_metric": "count",
            "orderby": [["count", False]],
        },
    ),
    (
        "Stations",
        "table",
        "trips",
        {
            "query_mode": "aggregate",
            "groupby": ["station"],
            "metrics": ["count", metric("AVG", "minutes"), metric("SUM", "fare")],
            "row_limit": 10,
        },
        {
            "columns": ["station"],
            "metrics": ["count", metric("AVG", "minutes"), metric("SUM", "fare")],
            "orderby": [["count", False]],
            "row_limit": 10,
        },
    ),
    ("Plans", "pie", "riders", {"groupby": ["plan"], "metric": "count"}, {"columns": ["plan"], "metrics": ["count"]}),
    (
        "Payments by method and year",
        "pivot_table_v2",
        "payments",
        {
            "groupbyRows": ["paid_at"],
            "groupbyColumns": ["method"],
            "metrics": [metric("SUM", "amount")],
            "time_grain_sqla": "P1Y",
            "aggregateFunction": "Sum",
            "metricsLayout": "COLUMNS",
            "rowOrder": "key_a_to_z",
            "colOrder": "key_a_to_z",
            "temporal_columns_lookup": {"paid_at": True},
        },
        {
            "columns": ["method", MONTH | {"timeGrain": "P1Y", "sqlExpression": "paid_at", "label": "paid_at"}],
            "metrics": [metric("SUM", "amount")],
            "orderby": [[metric("SUM", "amount"), False]],
        },
    ),
]


EXAMPLE = HERE.parent.parent / "examples" / "dashboards" / "superset"


# Kinds of charts beside the dashboard's: fine grains over a short range, the least and the greatest.
HOUR = ("2024-03-01T08:00:00", "2024-03-01T09:00:00")


def fine(grain, between):
    """A count by a grain, in a range."""
    axis = MONTH | {"timeGrain": grain}
    within = {"col": "started_at", "op": "TEMPORAL_RANGE", "val": " : ".join(between)}
    query = {"columns": [axis], "series_columns": [], "metrics": ["count"], "orderby": [["count", False]], "filters": [within]}
    return {"x_axis": "started_at", "time_grain_sqla": grain, "metrics": ["count"], "groupby": []}, query


EXTREMES = [metric("MIN", "minutes"), metric("MAX", "minutes")]
MORE = [
    ("Trips by five seconds", "echarts_timeseries_line", "trips", *fine("PT5S", HOUR)),
    ("Trips by five minutes", "echarts_timeseries_line", "trips", *fine("PT5M", HOUR)),
    (
        "The shortest and the longest trip",
        "table",
        "trips",
        {"query_mode": "aggregate", "groupby": ["station"], "metrics": EXTREMES, "row_limit": 100},
        {"columns": ["station"], "metrics": EXTREMES, "orderby": [[EXTREMES[1], False]], "row_limit": 100},
    ),
    (
        "Months of the three busiest stations",
        "echarts_timeseries_line",
        "trips",
        {"x_axis": "started_at", "time_grain_sqla": "P1M", "metrics": ["count"], "groupby": ["station"], "limit": 3},
        {
            "columns": [MONTH, "station"],
            "series_columns": ["station"],
            "metrics": ["count"],
            "series_limit": 3,
            "series_limit_metric": "count",
            "orderby": [["count", False]],
        },
    ),
]


class Superset:
    """A Superset in a folder, and its API."""

    def __init__(self, folder):
        # Its own database with a user in it takes minutes to make: ./run keeps one.
        shutil.copy(os.environ["SUPERSET_DATABASE"], folder / "superset.db")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        environment = os.environ | {"SUPERSET_HOME": str(folder), "SUPERSET_CONFIG_PATH": str(HERE / "superset_config.py")}
        program = pathlib.Path(sys.executable).with_name("superset")
        self.log = open(folder / "log", "w+")
        command = [program, "run", "-h", "127.0.0.1", "-p", str(self.port), "--with-threads"]
        self.child = subprocess.Popen(command, env=environment, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)
        self.url = f"http://127.0.0.1:{self.port}"
        self.http = requests.Session()

    def __enter__(self):
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.child.poll() is None:
            try:
                if self.http.get(f"{self.url}/health", timeout=5).ok:
                    break
            except requests.ConnectionError:
                time.sleep(0.5)
        who = {"username": "admin", "password": "admin", "provider": "db", "refresh": False}
        token = self.post("security/login", who)["access_token"]
        self.http.headers["Authorization"] = f"Bearer {token}"
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait(timeout=60)

    def call(self, verb, path, body=None):
        answer = self.http.request(verb, f"{self.url}/api/v1/{path}", json=body, timeout=PATIENCE)
        if not answer.ok:
            self.log.seek(0)
            raise AssertionError(f"{verb} {path}: {answer.status_code} {answer.text[:500]} {self.log.read()[-2000:]}")
        return answer.json()

    def post(self, path, body):
        return self.call("POST", path, body)

    def get(self, path):
        return self.call("GET", path)


def the_database_is_added(world):
    served = world.served
    who = f"{served.user}:{served.password.replace(' ', '%20')}"
    url = f"postgresql+psycopg2://{who}@{served.host}:{served.port}/{served.database}?sslmode=verify-full&sslrootcert={served.root}"
    # Six charts at 10 each, so that their numbers can be judged; a session's settings may come with its connection.
    session = {"engine_params": {"connect_args": {"options": "-c noisegate.epsilon=10"}}}
    world.address, world.secret = url, served.password.replace(" ", "%20")
    given = {"database_name": "bikes", "sqlalchemy_uri": url, "extra": json.dumps(session)}
    world.superset.post("database/test_connection/", given)
    world.source = world.superset.post("database/", given | {"expose_in_sqllab": True})["id"]
    schemas = world.superset.get(f"database/{world.source}/schemas/")["result"]
    assert {"public", "noisegate"} <= set(schemas), schemas
    tables = world.superset.get(f"database/{world.source}/tables/?q=(schema_name:public)")["result"]
    assert {table["value"] for table in tables} == {"riders", "trips", "payments", "stations", "helmets"}, tables


def data_sets_are_synced(world):
    for name in ("riders", "trips", "payments"):
        given = {"database": world.source, "schema": "public", "table_name": name}
        world.tables[name] = world.superset.post("dataset/", given)["id"]
        columns = world.superset.get(f"dataset/{world.tables[name]}")["result"]["columns"]
        world.columns[name] = {column["column_name"]: column for column in columns}
    assert world.columns["trips"]["started_at"]["is_dttm"] and not world.columns["trips"]["minutes"]["is_dttm"]
    assert world.columns["trips"]["minutes"]["type"] == "INTEGER", world.columns["trips"]["minutes"]
    world.superset.call("PUT", f"dataset/{world.tables['trips']}/refresh")


def draw(world, name, kind, table, form, query):
    """Makes a chart, and gives what Superset answers for it."""
    source = {"id": world.tables[table], "type": "table"}
    form = form | {"viz_type": kind, "datasource": f"{source['id']}__table"}
    query = {"filters": [], "extras": {}, "row_limit": 10000, "annotation_layers": []} | query
    context = {"datasource": source, "force": False, "queries": [query], "form_data": form, "result_format": "json", "result_type": "full"}
    chart = {"slice_name": name, "viz_type": kind, "datasource_id": source["id"], "datasource_type": "table"}
    kept = {"params": json.dumps(form), "query_context": json.dumps(context)}
    world.charts[name] = world.superset.post("chart/", chart | kept)["id"]
    (answer,) = world.superset.get(f"chart/{world.charts[name]}/data/")["result"]
    assert answer["error"] is None and answer["status"] == "success", answer
    return answer


def rows_of(answer):
    """The rows of a chart, as PostgreSQL's client gives them."""

    def value(name, given):
        if name in ("started_at", "paid_at") and given is not None:
            return datetime.datetime.fromtimestamp(given / 1000, datetime.timezone.utc).replace(tzinfo=None)
        return round(float(given), 6) if isinstance(given, (int, float)) else given

    return sorted((tuple(value(name, row[name]) for name in answer["colnames"]) for row in answer["data"]), key=repr)


def asked(connection, sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        plain = (lambda v: round(float(v), 6) if isinstance(v, (int, float)) or hasattr(v, "as_tuple") else v)
        return sorted((tuple(plain(v) for v in row) for row in cursor.fetchall()), key=repr)


def near(ours, exact, key, least, percent):
    """Whether the last number of each row is near the exact one, by the columns before `key`."""
    truth = {row[:key]: row for row in exact}
    for row in ours:
        there = truth.get(row[:key])
        if there is None:
            continue
        for a, b in zip(row[key:], there[key:]):
            assert abs(a - b) <= max(least, abs(b) * percent / 100), (row, there)
    assert any(row[:key] in truth for row in ours), (ours, exact)


def chart(of, key, least, percent, rows):
    """A check of one chart: how many columns are keys, how far numbers may be off, how many rows there are."""
    name, kind, table, form, query = of

    def check(world):
        answer = draw(world, name, kind, table, form, query)
        found = rows_of(answer)
        low, high = rows
        assert low <= len(found) <= high, (len(found), answer["query"])
        # Asked again, the same numbers come for nothing.
        again = asked(world.gate, answer["query"].rstrip("; \n"))
        assert found == again, (found[:5], again[:5])
        truth = asked(world.exact, answer["query"].replace("%%", "%"))
        near(found, truth, key, least, percent)
        # No group is missing; those that come besides have no rows there.
        limited = "limit" in form or len(truth) >= query.get("row_limit", 10000)
        assert limited or {row[:key] for row in truth} <= {row[:key] for row in found}, (found, truth)

    check.__name__ = f"chart: {name} ({kind})"
    return check


def filters_find_public_values(world):
    found = world.superset.get(f"datasource/table/{world.tables['riders']}/column/plan/values/")["result"]
    assert set(found) - {None} == {"day", "month", "year"}, found


def sql_lab_asks_and_explains(world):
    given = {"database_id": world.source, "schema": "public", "sql": "SELECT plan, count(*) AS n FROM riders GROUP BY 1", "runAsync": False}
    answer = world.superset.post("sqllab/execute/", given)
    assert [column["column_name"] for column in answer["columns"]] == ["plan", "n"] and len(answer["data"]) >= 3, answer
    refused = world.superset.http.post(f"{world.superset.url}/api/v1/sqllab/execute/", json=given | {"sql": "SELECT * FROM trips"})
    assert "over private rows is not supported" in refused.text or "private rows" in refused.text, refused.text


def a_dashboard_holds_them(world):
    position = {
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["GRID_ID"]},
        "GRID_ID": {"type": "GRID", "id": "GRID_ID", "children": ["ROW-0", "ROW-1"], "parents": ["ROOT_ID"]},
    }
    for row in range(2):
        names = [c[0] for c in CHARTS[3 * row : 3 * row + 3]]
        position[f"ROW-{row}"] = {
            "type": "ROW",
            "id": f"ROW-{row}",
            "children": [f"CHART-{world.charts[name]}" for name in names],
            "parents": ["ROOT_ID", "GRID_ID"],
            "meta": {"background": "BACKGROUND_TRANSPARENT"},
        }
        for name in names:
            number = world.charts[name]
            position[f"CHART-{number}"] = {
                "type": "CHART",
                "id": f"CHART-{number}",
                "children": [],
                "parents": ["ROOT_ID", "GRID_ID", f"ROW-{row}"],
                "meta": {"chartId": number, "width": 4, "height": 50, "sliceName": name},
            }
    given = {"dashboard_title": "Bikes, through noisegate", "published": True, "position_json": json.dumps(position)}
    world.dashboard = world.superset.post("dashboard/", given)["id"]
    for number in world.charts.values():
        world.superset.call("PUT", f"chart/{number}", {"dashboards": [world.dashboard]})
    held = world.superset.get(f"dashboard/{world.dashboard}/charts")["result"]
    assert len(held) == len(CHARTS), held


def a_browser_draws_it(world):
    picture = world.place / "dashboard.png"
    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={world.place}/chromium"]
    command += ["--window-size=1500,920", "--timeout=60000", "--virtual-time-budget=60000", f"--screenshot={picture}"]
    command += [f"{world.superset.url}/superset/dashboard/{world.dashboard}/?standalone=1"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    assert picture.stat().st_size > 50_000, picture.stat()
    if len(sys.argv) > 1:
        shutil.copy(picture, pathlib.Path(sys.argv[1]) / "dashboard.png")


def the_examples_dashboard_is_imported(world):
    # As the page does it: a folder in an archive, with the password and the address of the gateway.
    # Superset's database in SQLite takes each name of a table once.
    for number in world.tables.values():
        world.superset.call("DELETE", f"dataset/{number}")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as out:
        for file in sorted(EXAMPLE.rglob("*.yaml")):
            text = file.read_text()
            if file.name == "noisegate.yaml":
                text = re.sub(r"(?m)^sqlalchemy_uri: .*$", f"sqlalchemy_uri: {world.address.replace(world.secret, 'XXXXXXXXXX')}", text)
                # At such a price the rows below are PostgreSQL's, and numbers near.
                text = text.replace("-c noisegate.unsure=null", "-c noisegate.unsure=null -c noisegate.epsilon=10")
            out.writestr(f"superset/{file.relative_to(EXAMPLE)}", text)
    given = {"passwords": json.dumps({"databases/noisegate.yaml": world.password}), "overwrite": "true"}
    answer = world.superset.http.post(
        f"{world.superset.url}/api/v1/dashboard/import/",
        files={"formData": ("dashboard.zip", archive.getvalue(), "application/zip")},
        data=given,
        timeout=PATIENCE,
    )
    world.superset.log.seek(0)
    assert answer.ok, (answer.status_code, world.superset.log.read()[-4000:])
    charts = world.superset.get("chart/?q=(page_size:100)")["result"]
    names = {chart["slice_name"]: chart["id"] for chart in sorted(charts, key=lambda chart: chart["id"])}
    for name, keys, size, least, percent in [
        ("Trips by month, with their 95 % intervals", ["started_at"], 36, 400, 0),
        ("Stations", ["station"], 60, 1500, 40),
        ("Riders by plan", ["plan"], 3, 50, 0),
    ]:
        (drawn,) = world.superset.get(f"chart/{names[name]}/data/")["result"]
        assert drawn["error"] is None and drawn["status"] == "success", drawn
        columns = [c for c in drawn["colnames"] if c not in keys]
        with_ends = [c for c in columns if f"{c}__yhat_lower" in columns and f"{c}__yhat_upper" in columns]
        assert with_ends and len(columns) == 3 * len(with_ends), columns
        cells = [(row[f"{c}__yhat_lower"], row[c], row[f"{c}__yhat_upper"]) for row in drawn["data"] for c in with_ends]
        # A quiet station's number may say nothing, and is NULL.
        told = [cell for cell in cells if None not in cell]
        assert len(told) >= 0.8 * len(cells), (name, cells)
        assert all(float(low) <= float(value) <= float(high) for low, value, high in told), told
        ours = sorted([tuple(row[c] for c in keys) for row in drawn["data"]], key=repr)
        with world.exact.cursor() as cursor:
            # PostgreSQL knows of no ends.
            plain = re.sub(r"(?i)noisegate\.(?:low|high)\((count\(\*\)|avg\(\w+\))\)", r"\1", drawn["query"])
            cursor.execute(plain.rstrip("; \n").replace("%%", "%"))
            place = [d.name for d in cursor.description].index(keys[0])
            truth = cursor.fetchall()
        assert len(ours) == len(truth) == size, (name, len(ours), len(truth))
        if keys != ["started_at"]:
            assert ours == sorted([(row[place],) for row in truth], key=repr), (ours, truth)


CHECKS = [
    the_database_is_added,
    data_sets_are_synced,
    chart(CHARTS[0], 0, 50, 0, (1, 1)),
    chart(CHARTS[1], 1, 400, 0, (36, 38)),
    chart(CHARTS[2], 2, 800, 0, (5, 20)),
    chart(CHARTS[3], 1, 1500, 40, (10, 10)),
    chart(CHARTS[4], 1, 50, 0, (3, 4)),
    chart(CHARTS[5], 2, 50000, 0, (9, 20)),
    filters_find_public_values,
    sql_lab_asks_and_explains,
    a_dashboard_holds_them,
    a_browser_draws_it,
    # Behind the dashboard, which has six.
    chart(MORE[0], 1, 200, 0, (720, 720)),
    chart(MORE[1], 1, 100, 0, (12, 12)),
    chart(MORE[2], 1, 240, 0, (60, 60)),
    chart(MORE[3], 2, 800, 0, (3 * 36, 3 * 36)),
    the_examples_dashboard_is_imported,
]


class World(suite.Served):
    """The demo at half its size behind noisegate, a Superset that uses it, and connections to the proxy and to the database itself."""

    scale = "0.5"

    def begin(self, program):
        super().begin(program)
        # Without a profile upper ends are NULL.
        measured = [program, "profile", "--policy", self.policy, "--epsilon", "1", "--yes"]
        subprocess.run(measured, check=True, capture_output=True)

    def __enter__(self):
        super().__enter__()
        self.home = tempfile.TemporaryDirectory(prefix="superset-")
        self.place = pathlib.Path(self.home.name)
        where = {"host": self.host, "port": self.port, "user": self.user, "dbname": self.database, "password": self.password}
        self.gate = psycopg2.connect(**where, sslmode="verify-full", sslrootcert=self.root, options="-c noisegate.epsilon=10")
        policy = (pathlib.Path(self.folder.name) / "served" / "policy.toml").read_text()
        self.exact = psycopg2.connect(re.search(r'(?m)^url = "(postgres:[^"]*)"', policy)[1])
        self.superset = Superset(self.place).__enter__()
        self.tables, self.columns, self.charts = {}, {}, {}
        self.served = self
        return self

    def __exit__(self, *_):
        self.superset.__exit__()
        self.gate.close()
        self.exact.close()
        self.home.cleanup()
        super().__exit__()


if __name__ == "__main__":
    sys.exit(suite.run("Superset", CHECKS, lambda world, check: check(world), World))
