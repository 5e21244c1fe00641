"""Every template of pgAdmin's browser tree that PostgreSQL answers a plain role is answered by the gateway."""

import collections
import os
import pathlib
import re
import sys

import jinja2
import psycopg2

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "clients"))
from demo import Served  # noqa: E402

# What the tree, the panels of properties and statistics, and a login read.
STEMS = set(
    "nodes node count properties stats coll_stats coll_table_stats get_oid getoid acl get_name get_parent get_types"
    " get_collations get_roles get_columns get_tables get_constraints get_subtypes get_tablespaces get_owner get_schemas"
    " get_databases backend_support depend dependents dependencies last_system_oid check_recovery is_catalog".split()
)

# What is refused on purpose, or not yet, and why.
REFUSED = {
    "column pr.xmin does not exist": "system columns of catalogs are not shown",
    "column e.xmin does not exist": "system columns of catalogs are not shown",
    "syntax error: Expected: ), found: (": "substring(a from b for c) with a call of the catalog's schema",
}

LOGIN = """
SET DateStyle=ISO; SET client_min_messages=notice;
SELECT set_config('bytea_output','hex',false) FROM pg_show_all_settings() WHERE name = 'bytea_output';
SET client_encoding='UTF8';
"""


def version(file):
    """The server's version that a template is for; 0 for every one."""
    name = file.parent.name
    number = re.match(r"\d+", name)
    return 0 if name == "default" else int(number[0]) if number else None


def templates(root, server):
    """For each question the newest template that is for a server of this version."""
    found = collections.defaultdict(list)
    for file in root.rglob("*.sql"):
        of = version(file)
        if file.stem in STEMS and of is not None and of <= server and "ppas" not in file.parts:
            found[file.parent.parent, file.name].append((of, file))
    return sorted(max(list_)[1] for list_ in found.values())


def quoted(value, *_, **__):
    text = str(value)
    return text if text.isdigit() else "'" + text.replace("'", "''") + "'"


def environment(root):
    folders = sorted({str(f) for f in root.rglob("templates")})
    env = jinja2.Environment(
        extensions=["jinja2.ext.do"], undefined=jinja2.ChainableUndefined, loader=jinja2.FileSystemLoader(folders)
    )
    env.filters.update(qtLiteral=quoted, qtIdent=lambda v, *_, **__: f'"{v}"', qtTypeIdent=lambda v, *_, **__: str(v))
    return env


def context(connection):
    """The public schema and the table of trips, as a connection sees them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT oid FROM pg_database WHERE datname = current_database()),"
            " (SELECT oid FROM pg_namespace WHERE nspname = 'public'), 'public.trips'::regclass::oid"
        )
        did, scid, tid = cursor.fetchone()
    return dict.fromkeys("cid idx tgid rid trid fid pid clid foid".split(), 0) | {
        "did": did,
        "scid": scid,
        "tid": tid,
        "vid": tid,
        "parent_id": tid,
        "sid": 1,
        "datlastsysoid": 16383,
        "schema": "public",
        "schema_name": "public",
        "table": "trips",
        "type": "r",
        "server_type": "pg",
        "data": {},
        "dblist": [],
        "_": str,
    }


def error(connection, sql):
    """The first line of what a statement fails with."""
    with connection.cursor() as cursor:
        try:
            cursor.execute(sql)
        except psycopg2.Error as e:
            return str(e).splitlines()[0]
    return None


def main():
    root = pathlib.Path(os.environ["PGADMIN_TEMPLATES"])
    with Served() as served:
        there = re.search(r'(?m)^finish_url = "(.*)"', pathlib.Path(served.policy).read_text())[1]
        plain = psycopg2.connect(there)
        here = psycopg2.connect(
            host=served.host,
            port=served.port,
            user=served.user,
            password=served.password,
            dbname=served.database,
            sslmode="verify-full",
            sslrootcert=served.root,
        )
        for connection in (plain, here):
            connection.autocommit = True
        failed = [f"login: {e}" for e in [error(here, LOGIN)] if e]
        env, asked = environment(root), 0
        ours, theirs = context(here), context(plain)
        for file in templates(root, plain.server_version // 10_000):
            try:
                template = env.from_string(file.read_text())
                sql, same = template.render(ours), template.render(theirs)
            except (jinja2.TemplateError, TypeError, AttributeError):
                # One that wants more of an object than its number.
                continue
            if not re.match(r"(--.*\n|/\*.*?\*/|\s)*(SELECT|WITH)", same, re.I | re.S) or error(plain, same):
                continue
            asked += 1
            wrong = error(here, sql)
            if wrong and wrong not in REFUSED:
                failed.append(f"{file.relative_to(root)}: {wrong}")
        for line in failed:
            print("FAIL ", line)
        print(f"pgAdmin: {asked} questions, {len(failed)} failed")
        sys.exit(bool(failed) or asked < 100)


main()
