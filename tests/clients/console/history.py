"""The demo's data behind `noisegate serve` with a console, and three weeks of questions in its ledger: libfaketime gives the
proxy another clock for each day of them. Runs a command beside it; CONSOLE is the console's address, REPORT a report's file.
"""

import glob
import os
import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import demo  # noqa: E402

# So many days ago, what was asked, by whom.
DAYS = [
    (20, "ada", "SELECT count(*) FROM riders", "SELECT station, count(*) FROM trips GROUP BY station"),
    (17, "bo", "SELECT plan, avg(2024 - birth_year) FROM riders GROUP BY plan", "SELECT sum(amount) FROM payments"),
    (13, "ada", "SELECT method, sum(amount) FROM payments GROUP BY method", "SELECT avg(minutes) FROM trips"),
    (9, "bo", "SELECT count(*) FROM trips WHERE minutes > 60", "SELECT city, count(*) FROM riders GROUP BY city"),
    (6, "ada", "SELECT station, avg(fare) FROM trips GROUP BY station", "SELECT count(*) FROM riders"),
    (2, "bo", "SELECT count(*) FROM payments WHERE method = 'cash'", "SELECT median(minutes) FROM trips"),
]

MORE = """
[[stream]]
name = "unusual stations"
variant = "improved"
epsilon = 0.2
positives = 5

[console]
listen = "127.0.0.1:0"
"""


class History(demo.Served):
    """It, with `ada` and `bo` as users, and `owner` and `dpo` as visitors of the console."""

    def adjusted(self, policy):
        program = os.environ["NOISEGATE_BIN"]

        def scram(name):
            made = [program, "passwd", "--stdin", name]
            entry = subprocess.run(made, input=f"{self.password}\n", check=True, capture_output=True, text=True)
            return re.search(r"(?m)^scram = .*", entry.stdout)[0]

        # The budgets of the demo, so that something is left and something is not.
        policy = re.sub(r"(?m)^epsilon = 1000\.0$", "epsilon = 6.0", policy)
        policy = policy.replace("[ledger]\n", "[ledger]\ntext = true\n").replace("[server]\n", '[server]\ndatabase = "demo"\n')
        visitors = [("owner", "owner"), ("dpo", "auditor")]
        pages = "".join(f'[[console.user]]\nname = "{n}"\nrole = "{r}"\n{scram(n)}\n' for n, r in visitors)
        users = "".join(f'[[user]]\nname = "{n}"\nrole = "research"\n{scram(n)}\n' for n in ["ada", "bo"])
        return policy + MORE + pages + users

    def begin(self, program):
        (library,) = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")

        def ago(days):
            # Its own wrapper would stand between us and the proxy.
            return os.environ | {"LD_PRELOAD": library, "FAKETIME": f"-{days}d"}

        created = [program, "budget", "create", "--policy", self.policy]
        subprocess.run(created, check=True, capture_output=True, env=ago(21))
        for days, user, *questions in DAYS:
            child, host, port = demo.listening([program, "serve", "--policy", self.policy], env=ago(days))
            psql = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1"]
            url = f"host={host} port={port} user={user} password='{self.password}' dbname=demo sslmode=require"
            subprocess.run(psql + [url], input=";\n".join(["SET noisegate.epsilon = 0.25", *questions]), check=True, capture_output=True, text=True)
            child.terminate()
            child.wait(timeout=60)
        self.child, self.host, self.port = demo.listening([program, "serve", "--policy", self.policy])
        self.report = str(pathlib.Path(self.policy).parent / "report.html")
        made = [program, "report", "--policy", self.policy, "--output", self.report]
        subprocess.run(made, check=True, capture_output=True)
        self.others = [self.written(program, *page) for page in self.pages(program)]

    def pages(self, program):
        """Other pages that are written for owners, each by a command."""
        (backend,) = re.findall(r'(?m)^url = "(postgres[^"]*)"', pathlib.Path(self.policy).read_text())
        subprocess.run([program, "check", "--policy", self.policy, "--write-schema"], check=True, capture_output=True)
        asked = pathlib.Path(self.policy).parent / "asked.sql"
        asked.write_text("".join(f"{sql};\n" for _, _, *questions in DAYS for sql in questions))
        quasi = ["--quasi", "birth_year,plan", "--sensitive", "city"]
        yield "report", "risk", "--backend", backend, "--table", "riders", *quasi, "--policy", self.policy
        yield "explain", "advise", "--policy", self.policy, "--people", "1000", str(asked)

    def written(self, program, group, command, *arguments):
        page = str(pathlib.Path(self.policy).parent / f"{command}.html")
        with open(page, "w") as out:
            subprocess.run([program, group, command, *arguments, "--format", "html"], check=True, stdout=out, stderr=subprocess.PIPE)
        return page

    def more(self):
        (line,) = [line for line in self.child.said if line.startswith("console at ")]
        return {"CONSOLE": line.removeprefix("console at ").strip(), "REPORT": self.report, "OTHERS": ":".join(self.others), "PASSWORD": self.password}


if __name__ == "__main__":
    sys.exit(demo.beside(sys.argv[1:], History))
