"""pgcli, over TLS and with a password: what it asks for completion, what it runs, and the program itself in a terminal.

Prints one line for each check and, last, how many passed; the exit status says whether all did.
"""

import os
import pathlib
import sys
import tempfile
import threading
import time

import pexpect
import psycopg
from pgcli.completion_refresher import CompletionRefresher
from pgcli.pgexecute import PGExecute
from pgspecial.main import PGSpecial
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import demo as suite


def executor(served, **more):
    where = {"host": served.host, "port": served.port, "sslmode": "verify-full", "sslrootcert": served.root}
    return PGExecute(served.database, served.user, served.password, **where, **more)


def run(pgcli, sql):
    """The rows, columns, status and notices of one statement."""
    ((title, rows, headers, status, _, success, *_),) = pgcli.run(sql, pgspecial=PGSpecial())
    assert success, status
    return list(rows or []), headers, status, title


def completion_knows_what_the_policy_shows(served):
    done = threading.Event()
    found = []
    CompletionRefresher().refresh(executor(served), PGSpecial(), lambda completer: (found.append(completer), done.set()))
    assert done.wait(60), "the refresh took a minute"
    (completer,) = found
    tables = completer.dbmetadata["tables"]
    assert set(tables["public"]) == {"riders", "trips", "payments", "stations"}, tables["public"].keys()
    assert tables["public"]["trips"]["minutes"].datatype == "integer"
    assert [key.parenttable for key in tables["public"]["trips"]["rider_id"].foreignkeys] == ["riders"]
    assert "budget" in completer.dbmetadata["views"]["noisegate"] and "pg_backend_pid" in completer.dbmetadata["functions"]["pg_catalog"]
    assert completer.databases == ["demo"], completer.databases

    def completions(text):
        return {c.text for c in completer.get_completions(Document(text), CompleteEvent(), smart_completion=True)}

    assert {"riders", "trips"} <= completions("SELECT count(*) FROM ")
    assert {"birth_year", "plan"} <= completions("SELECT  FROM riders WHERE ")
    assert "t.rider_id = r.rider_id" in completions("SELECT count(*) FROM riders r JOIN trips t ON ")


def statements_are_run(served):
    notices = []
    pgcli = executor(served, notify_callback=notices.append)
    rows, headers, _, title = run(pgcli, "SELECT plan, count(*) AS n FROM riders GROUP BY plan ORDER BY plan")
    assert headers == ["plan", "n"] and [row[0] for row in rows][:3] == ["day", "month", "year"], rows
    assert title and "spent " in title, title
    assert run(pgcli, "PREPARE q (int) AS SELECT count(*) FROM riders WHERE birth_year > $1")[2] == "PREPARE"
    assert isinstance(run(pgcli, "EXECUTE q (1970)")[0][0][0], int)
    rows = run(pgcli, "SELECT 1.50::numeric, date '2024-02-29', ARRAY[1, 2], 'ä', '\\x00ff'::bytea, null")[0]
    assert rows and rows[0][4] in (b"\x00\xff", "\\x00ff") and rows[0][5] is None, rows


def cursors_and_transactions(served):
    pgcli = executor(served)
    run(pgcli, "BEGIN")
    assert pgcli.valid_transaction()
    run(pgcli, "DECLARE c CURSOR FOR SELECT station FROM stations ORDER BY 1")
    assert len(run(pgcli, "FETCH 3 FROM c")[0]) == 3
    try:
        pgcli.conn.execute("SELECT nonsense FROM trips")
    except psycopg.errors.UndefinedColumn:
        pass
    assert pgcli.failed_transaction()
    run(pgcli, "ROLLBACK")
    assert run(pgcli, "SELECT 5")[0] == [(5,)]


def errors_have_their_sqlstates(served):
    pgcli = executor(served)
    for sql, sqlstate in [
        ("SELECT * FROM trips", "0A000"),
        ("SELECT count(nonsense) FROM trips", "42703"),
        ("DELETE FROM trips", "42501"),
    ]:
        try:
            pgcli.conn.execute(sql)
        except psycopg.Error as error:
            assert error.sqlstate == sqlstate, (sql, error.sqlstate)
            assert sqlstate != "42703" or error.diag.statement_position == "14", error.diag.statement_position
            continue
        raise AssertionError(f"answered: {sql}")


def its_own_commands(served):
    pgcli = executor(served)
    for command, word in [
        ("\\dt", "trips"),
        ("\\d trips", "minutes"),
        ("\\dv noisegate.*", "budget"),
        ("\\dn", "noisegate"),
        ("\\l", "demo"),
        ("\\du", "demo"),
        ("\\df count", "count"),
        ("\\di", "riders_pkey"),
    ]:
        said = ""
        for title, rows, headers, status, *_ in pgcli.run(command, pgspecial=PGSpecial()):
            said += f"{title} {list(rows or [])} {headers} {status}"
        assert word in said, (command, said)


def a_session_is_cancelled_and_reset(served):
    pgcli = executor(served)
    threading.Timer(0.5, pgcli.conn.cancel).start()
    slow = "SELECT count(*) FROM stations a, stations b, stations c, stations d, stations e, stations f"
    try:
        pgcli.conn.execute(slow)
    except psycopg.errors.QueryCanceled:
        pass
    else:
        raise AssertionError("it was answered")
    pgcli.set_timezone("Asia/Tokyo")
    assert pgcli.get_timezone() == "Asia/Tokyo"
    run(pgcli, "DISCARD ALL")
    assert pgcli.get_timezone() == "UTC" and not pgcli.is_virtual_database()


def the_program_in_a_terminal(served):
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {
            "HOME": home,
            "XDG_CONFIG_HOME": home,
            "PGPASSWORD": served.password,
            "PGSSLMODE": "verify-full",
            "PGSSLROOTCERT": served.root,
            "PAGER": "cat",
            "TERM": "dumb",
        }
        arguments = ["-h", served.host, "-p", str(served.port), "-U", served.user, "-d", served.database]
        program = str(pathlib.Path(sys.executable).with_name("pgcli"))
        child = pexpect.spawn(program, arguments, env=environment, encoding="utf8", timeout=60, dimensions=(50, 200))
        child.expect("demo>")
        child.sendline("SELECT count(*) AS riders_counted FROM riders WHERE birth_year > 1980;")
        child.expect("spent ")
        child.expect("SELECT 1")
        child.sendline("\\copy (SELECT station FROM stations) TO STDOUT")
        child.expect("Norwick")
        time.sleep(0.5)
        child.sendline("\\q")
        child.expect(pexpect.EOF)


CHECKS = [
    completion_knows_what_the_policy_shows,
    statements_are_run,
    cursors_and_transactions,
    errors_have_their_sqlstates,
    its_own_commands,
    a_session_is_cancelled_and_reset,
    the_program_in_a_terminal,
]


def one(served, check):
    check(served)


if __name__ == "__main__":
    sys.exit(suite.run("pgcli", CHECKS, one, suite.Served))
