"""A PostgreSQL of a benchmark's own."""

import os
import pathlib
import pwd
import shutil
import subprocess
import sys


def program(name):
    """A program of PostgreSQL's: on the path, or of the newest version installed."""
    found = shutil.which(name)
    newest = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda p: float(p.parts[4]))
    return found or str(newest[-1]) if found or newest else sys.exit(f"{name} is not installed")


class Cluster:
    """In a folder, with an empty database `bench` of its user `owner`, reached by its socket, until the block ends."""

    def __init__(self, folder):
        self.folder = folder
        # PostgreSQL does not run as root.
        self.owner = {"user": "postgres", "cwd": "/"} if os.getuid() == 0 else {}
        self.environment = os.environ | {"PGHOST": str(folder), "PGUSER": "owner", "PGDATABASE": "bench", "PGPORT": "5432"}

    def __enter__(self):
        if self.owner:
            os.chown(self.folder, pwd.getpwnam("postgres").pw_uid, -1)
        data, log = str(self.folder / "data"), str(self.folder / "log")
        quiet = {"check": True, "stdout": subprocess.DEVNULL, **self.owner}
        subprocess.run([program("initdb"), "-D", data, "-U", "owner", "--auth=trust", "-E", "UTF8", "--no-locale"], **quiet)
        options = f"-c listen_addresses= -k {self.folder} -c fsync=off -c shared_buffers=1GB -c jit=off -c max_wal_size=4GB"
        subprocess.run([program("pg_ctl"), "-D", data, "-l", log, "-o", options, "-w", "start"], **quiet)
        try:
            subprocess.run([program("createdb"), "bench"], check=True, env=self.environment | {"PGDATABASE": "postgres"})
            self.load()
        except BaseException:
            self.__exit__()
            raise
        return self

    def load(self):
        """What is in it at first."""

    def url(self, login):
        """Where this login finds the database."""
        return f"postgres://{login}@{str(self.folder).replace('/', '%2F')}/bench"

    def psql(self, arguments):
        command = [program("psql"), "-X", "-v", "ON_ERROR_STOP=1", *arguments]
        return subprocess.run(command, check=True, env=self.environment, stdout=subprocess.PIPE, text=True).stdout

    def __exit__(self, *_):
        data = str(self.folder / "data")
        subprocess.run([program("pg_ctl"), "-D", data, "-m", "immediate", "stop"], stdout=subprocess.DEVNULL, **self.owner)
