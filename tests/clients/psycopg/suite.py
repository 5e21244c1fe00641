"""psycopg 3 against a demo of the gateway, with the simple protocol only: no parameters, no prepared statements.

Prints one line for each check and, last, how many passed; the exit status says whether all did.
"""

import os
import subprocess
import sys
import threading

import psycopg


class Demo:
    """`noisegate demo` as a child process on a free port, ended with the block."""

    def __enter__(self):
        command = [os.environ["NOISEGATE_BIN"], "demo", "--listen", "127.0.0.1:0", "--scale", "0.02"]
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        watchdog = threading.Timer(120, self.child.kill)
        watchdog.start()
        for line in self.child.stdout:
            if line.startswith("listening on "):
                self.host, _, port = line.removeprefix("listening on ").strip().rpartition(":")
                self.port = int(port)
                break
        else:
            sys.exit("noisegate demo ended, or took two minutes, without `listening on ADDRESS`")
        watchdog.cancel()
        # Whatever else it prints must not fill the pipe.
        threading.Thread(target=self.child.stdout.read, daemon=True).start()
        return self

    def connect(self):
        return psycopg.connect(
            host=self.host,
            port=self.port,
            user="demo",
            dbname="demo",
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=10,
            # ClientCursor binds on the client's side and so sends simple queries.
            cursor_factory=psycopg.ClientCursor,
        )

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait(timeout=60)


def a_statement_without_tables(connection):
    assert connection.execute("SELECT 1 + 1").fetchone() == (2,)


def groups_come_with_names_types_and_order(connection):
    cursor = connection.execute(
        "SELECT station, count(*), avg(fare) FROM trips GROUP BY station ORDER BY 2 DESC LIMIT 5"
    )
    assert [column.name for column in cursor.description] == ["station", "count", "avg"]
    rows = cursor.fetchall()
    assert len(rows) == 5, rows
    counts = [row[1] for row in rows]
    assert all(isinstance(count, int) for count in counts), rows
    assert counts == sorted(counts, reverse=True), rows


def a_count_is_near_the_truth(connection):
    # 1,000 riders at this scale, one row each: noise of scale 10 is off by 300 once in ten million million times.
    (riders,) = connection.execute("SELECT count(*) FROM riders").fetchone()
    assert abs(riders - 1000) < 300, riders


def public_groups_are_all_there(connection):
    rows = connection.execute("SELECT plan, count(*) FROM riders GROUP BY plan ORDER BY plan").fetchall()
    assert [row[0] for row in rows if row[0] is not None] == ["day", "month", "year"], rows


def a_charged_statement_is_noticed(connection):
    notices = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    connection.execute("SELECT count(*) FROM riders WHERE birth_year < 1980").fetchone()
    assert len(notices) == 1, notices


def explain_is_free(connection):
    notices = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    plan = connection.execute("EXPLAIN SELECT avg(minutes) FROM trips").fetchall()
    assert plan and not notices, (plan, notices)


def rows_are_refused(connection):
    for sql in ("SELECT rider_id, fare FROM trips", "SELECT * FROM riders LIMIT 1"):
        try:
            connection.execute(sql)
        except psycopg.Error as error:
            assert error.sqlstate, error
        else:
            raise AssertionError(f"answered: {sql}")


def writing_is_refused(connection):
    for sql in ("DELETE FROM trips", "CREATE TABLE mine (x int)", "UPDATE stations SET capacity = 0"):
        try:
            connection.execute(sql)
        except psycopg.Error as error:
            assert error.sqlstate in ("42501", "0A000"), (sql, error.sqlstate)
        else:
            raise AssertionError(f"answered: {sql}")


def an_error_in_a_transaction_fails_the_rest_of_it(connection):
    connection.execute("BEGIN")
    for sql, sqlstate in (("SELECT nonsense FROM riders", "42703"), ("SELECT 1", "25P02")):
        try:
            connection.execute(sql)
        except psycopg.Error as error:
            assert error.sqlstate == sqlstate, (sql, error.sqlstate)
        else:
            raise AssertionError(f"answered: {sql}")
    connection.execute("ROLLBACK")
    assert connection.execute("SELECT 1").fetchone() == (1,)


def the_example_runs(connection):
    example = os.path.join(os.path.dirname(__file__), "../../../examples/psycopg_example.py")
    environment = os.environ | {"PGHOST": connection.info.host, "PGPORT": str(connection.info.port)}
    run = subprocess.run(
        [sys.executable, example], env=environment, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("(charged epsilon") == 2, run.stdout
    assert "a query that returns private rows is not supported" in run.stdout, run.stdout


CHECKS = [
    a_statement_without_tables,
    groups_come_with_names_types_and_order,
    a_count_is_near_the_truth,
    public_groups_are_all_there,
    a_charged_statement_is_noticed,
    explain_is_free,
    rows_are_refused,
    writing_is_refused,
    an_error_in_a_transaction_fails_the_rest_of_it,
    the_example_runs,
]


def main():
    failed = 0
    with Demo() as demo:
        for check in CHECKS:
            try:
                with demo.connect() as connection:
                    check(connection)
                print(f"ok    {check.__name__}")
            except Exception as error:  # each check is judged by itself
                failed += 1
                print(f"FAIL  {check.__name__}: {error!r}")
    print(f"psycopg: {len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
