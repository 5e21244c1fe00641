"""Other engines, each in an environment of its own that pip fills once, asked in turns with noisegate.

A peer is a script beside this file. It connects by libpq's variables, takes names of questions, one a line, and gives a line of
JSON for each: its seconds and its rows, or why it cannot answer. Engines that compute in memory load their tables before the
first question, at no time: their figures are without the way out of the database.
"""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

# Its script, and what pip installs for it.
PEERS = {
    "smartnoise": ("smartnoise.py", ["smartnoise-sql==1.0.10", "psycopg2-binary"]),
    "qrlew": ("qrlew.py", ["pyqrlew==0.9.27"]),
    "opendp": ("opendp_polars.py", ["opendp[polars]==0.16.0", "psycopg2-binary"]),
    "pipelinedp": ("pipelinedp.py", ["pipeline-dp==0.3.1", "psycopg2-binary"]),
}


class Peer:
    """One engine over a cluster, until it is closed; where it cannot be had, `missing` says why."""

    def __init__(self, name, folder, environment):
        script, packages = PEERS[name]
        self.name, self.child = name, None
        python = folder / name / "bin" / "python"
        self.missing = self.install(folder / name, python, packages)
        if self.missing is None:
            command = [python, "-W", "ignore", HERE / script]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
            self.child = subprocess.Popen(command, env=os.environ | environment, **pipes)

    @staticmethod
    def install(place, python, packages):
        ready = place / "READY"
        if ready.exists() and ready.read_text() == repr(packages):
            return None
        for command in [[sys.executable, "-m", "venv", "--clear", place], [python, "-m", "pip", "install", "-q", *packages]]:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                return (done.stdout.strip().splitlines() or ["pip failed"])[-1]
        ready.write_text(repr(packages))
        return None

    def ask(self, question):
        """Seconds and rows; or None and a reason."""
        if self.missing is not None:
            return None, self.missing
        try:
            self.child.stdin.write(question + "\n")
            self.child.stdin.flush()
            line = self.child.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.missing = "it ended"
            return None, self.missing
        answer = json.loads(line)
        return (answer["seconds"], answer["rows"]) if "seconds" in answer else (None, answer["refused"])

    def close(self):
        if self.child is not None:
            self.child.stdin.close()
            self.child.wait(timeout=60)
