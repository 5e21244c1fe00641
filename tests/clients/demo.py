"""`noisegate demo` as a child process, the same data served with passwords and TLS, and checks run one by one: what the
suites share.

`demo.py COMMAND...` runs a command beside a `Served`, which PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE and PGSSLROOTCERT
name.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading


def listening(command, **more):
    """Starts a noisegate, and gives it with its host and port as soon as it listens; `said` has the lines before that."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, **more)
    watchdog = threading.Timer(120, child.kill)
    watchdog.start()
    child.said = []
    for line in child.stdout:
        if line.startswith("listening on "):
            host, _, port = line.removeprefix("listening on ").strip().rpartition(":")
            break
        child.said.append(line)
    else:
        sys.exit(f"{command[:2]} ended, or took two minutes, without `listening on ADDRESS`")
    watchdog.cancel()
    # Whatever else it prints must not fill the pipe.
    threading.Thread(target=child.stdout.read, daemon=True).start()
    return child, host, int(port)


class Demo:
    """`noisegate demo` on a free port, ended with the block. NOISEGATE_BIN is the program."""

    user = database = "demo"

    def __init__(self, folder=None, scale="0.02"):
        self.environment = os.environ | ({"TMPDIR": folder} if folder else {})
        self.scale = scale

    def __enter__(self):
        command = [os.environ["NOISEGATE_BIN"], "demo", "--listen", "127.0.0.1:0", "--scale", self.scale]
        self.child, self.host, self.port = listening(command, env=self.environment)
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait(timeout=60)


class Served:
    """The demo's data behind `noisegate serve`, for a user with a password (SCRAM) and over TLS only.

    `root` is the file of the certificate that signs the server's. The budgets are large: what a suite asks must not be
    counted.
    """

    user = database = "demo"
    password = "correct horse"
    scale = "0.02"

    def more(self):
        """What else the command finds in its environment."""
        return {}

    def adjusted(self, policy):
        """The policy as this suite wants it."""
        return policy

    def __enter__(self):
        # The demo's server may run as another user, who has to get to its folder.
        self.folder = tempfile.TemporaryDirectory(prefix="clients-")
        os.chmod(self.folder.name, 0o711)
        self.demo = Demo(self.folder.name, self.scale).__enter__()
        try:
            self.serve(pathlib.Path(self.folder.name))
        except BaseException:
            self.demo.__exit__()
            raise
        return self

    def serve(self, folder):
        program = os.environ["NOISEGATE_BIN"]
        own = folder / "served"
        own.mkdir(mode=0o700)
        self.root = str(own / "server.crt")
        request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"]
        files = ["-keyout", str(own / "server.key"), "-out", self.root]
        subprocess.run(request + names + files, check=True, capture_output=True)
        password = subprocess.run(
            [program, "passwd", "--stdin", self.user], input=f"{self.password}\n", check=True, capture_output=True, text=True
        )
        (policy,) = folder.glob("noisegate-*/private/policy.toml")
        text, _, _ = policy.read_text().rpartition("[[user]]")
        text = re.sub(r"(?m)^listen = .*", 'listen = ["127.0.0.1:0"]\ntls = { cert = "server.crt", key = "server.key" }', text)
        text = re.sub(r"(?m)^epsilon = \d+\.0$", "epsilon = 1000.0", text)
        (own / "policy.toml").write_text(f'{self.adjusted(text)}\n[log]\nlevel = "warn"\n\n{password.stdout}')
        self.policy = str(own / "policy.toml")
        self.begin(program)

    def begin(self, program):
        """Makes the ledger, and serves."""
        subprocess.run([program, "budget", "create", "--policy", self.policy], check=True, capture_output=True)
        self.child, self.host, self.port = listening([program, "serve", "--policy", self.policy])

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait(timeout=60)
        self.demo.__exit__()
        self.folder.cleanup()


def run(name, checks, one, place=Demo):
    """Runs `one(demo, check)` for each check, prints a line for each and a closing count; gives the exit status."""
    failed = 0
    with place() as demo:
        for check in checks:
            try:
                one(demo, check)
                print(f"ok    {check.__name__}")
            except Exception as error:  # each check is judged by itself
                failed += 1
                print(f"FAIL  {check.__name__}: {error!r}")
    print(f"{name}: {len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


def beside(command, place=Served):
    """Runs a command beside a `Served`; gives its exit status."""
    with place() as served:
        environment = os.environ | served.more() | {
            "PGHOST": served.host,
            "PGPORT": str(served.port),
            "PGUSER": served.user,
            "PGPASSWORD": served.password,
            "PGDATABASE": served.database,
            "PGSSLROOTCERT": served.root,
        }
        return subprocess.run(command, env=environment, timeout=300).returncode


if __name__ == "__main__":
    sys.exit(beside(sys.argv[1:]))
