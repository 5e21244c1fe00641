"""dbt, over TLS and with a password: `debug`, `show` of a query over `source()` and `ref()`, tests of sources, compiled models and the
catalog of the documentation. Prints one line for each check and, last, how many passed; the exit status says whether all did.

Models are not built: dbt makes them by CREATE, which is refused.
"""

import json
import os
import pathlib
import sys
import tempfile

from dbt.cli.main import dbtRunner

PROFILE = """bikes:
  target: gate
  outputs:
    gate:
      type: postgres
      host: "{{ env_var('PGHOST') }}"
      port: "{{ env_var('PGPORT') | as_number }}"
      user: "{{ env_var('PGUSER') }}"
      password: "{{ env_var('PGPASSWORD') }}"
      dbname: "{{ env_var('PGDATABASE') }}"
      schema: public
      sslmode: verify-full
      sslrootcert: "{{ env_var('PGSSLROOTCERT') }}"
      threads: 2
"""
PROJECT = "name: bikes\nversion: '1.0'\nconfig-version: 2\nprofile: bikes\nmodels:\n  bikes:\n    +materialized: ephemeral\n"
SOURCES = """version: 2
sources:
  - name: bikes
    database: demo
    schema: public
    tables:
      - name: riders
      - name: trips
      - name: stations
        columns:
          - name: station
            data_tests: [unique, not_null]
          - name: city
            data_tests: [not_null]
"""
PER_PLAN = "select plan, count(*) as n from {{ source('bikes', 'riders') }} group by plan"
LONG = """select date_trunc('month', started_at) as month, count(*) as n from {{ source('bikes', 'trips') }}
where started_at >= '2024-01-01' and started_at < '2025-01-01' group by 1"""


class Project:
    """A project in a folder, and dbt in this process."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        for name, text in {
            "profiles.yml": PROFILE,
            "dbt_project.yml": PROJECT,
            "models/sources.yml": SOURCES,
            "models/per_plan.sql": PER_PLAN,
            "models/months.sql": LONG,
        }.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)

    def invoke(self, *command):
        where = ["--project-dir", str(self.folder), "--profiles-dir", str(self.folder)]
        return dbtRunner().invoke([*command, *where, "--quiet"])

    def rows(self, sql):
        done = self.invoke("show", "--inline", sql, "--limit", "100")
        assert done.success, done.exception or done.result
        (result,) = done.result
        table = result.agate_table
        return [dict(zip(table.column_names, row)) for row in table.rows]


def it_is_connected(project):
    done = project.invoke("debug")
    assert done.success, done.exception or done.result


def sources_are_counted(project):
    rows = project.rows(PER_PLAN)
    assert sorted(row["plan"] for row in rows) == ["day", "month", "year"], rows
    assert all(row["n"] > 0 for row in rows), rows


def models_are_referred_to(project):
    months = project.rows("select * from {{ ref('months') }}")
    assert len(months) == 12, months
    shares = project.rows("select plan, n * 1.0 / sum(n) over () as share from {{ ref('per_plan') }} order by plan")
    assert len(shares) == 3 and abs(sum(float(row["share"]) for row in shares) - 1) < 0.01, shares


def public_sources_are_tested(project):
    done = project.invoke("test", "--select", "source:bikes.stations")
    assert done.success and len(done.result.results) == 3, done.exception or done.result


def the_catalog_has_columns_and_comments(project):
    done = project.invoke("docs", "generate")
    assert done.success, done.exception or done.result
    catalog = json.loads((project.folder / "target" / "catalog.json").read_text())
    riders = catalog["sources"]["source.bikes.bikes.riders"]
    assert riders["columns"]["birth_year"]["type"] == "integer", riders
    assert riders["columns"]["rider_id"]["comment"] == "noisegate: the unit", riders
    assert riders["metadata"]["comment"].startswith("noisegate: private, the unit is rider_id"), riders


def rows_and_models_that_are_made_are_refused(project):
    done = project.invoke("show", "--inline", "select * from {{ source('bikes', 'trips') }}")
    assert not done.success and "private rows" in str(done.exception or done.result), done
    done = project.invoke("run", "--select", "per_plan", "--vars", "{}")
    # Ephemeral models are nothing to run.
    assert done.success and not done.result.results, done


CHECKS = [
    it_is_connected,
    sources_are_counted,
    models_are_referred_to,
    public_sources_are_tested,
    the_catalog_has_columns_and_comments,
    rows_and_models_that_are_made_are_refused,
]

if __name__ == "__main__":
    os.environ["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"
    os.environ["PGOPTIONS"] = "-c noisegate.epsilon=2"
    failed = 0
    with tempfile.TemporaryDirectory(prefix="dbt-") as folder:
        project = Project(folder)
        for check in CHECKS:
            try:
                check(project)
                print(f"ok    {check.__name__}")
            except Exception as error:  # each check is judged by itself
                failed += 1
                print(f"FAIL  {check.__name__}: {error!r}")
    print(f"dbt: {len(CHECKS) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
