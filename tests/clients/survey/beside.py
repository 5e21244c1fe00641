"""Runs a command beside `noisegate demo`: CONSOLE and PASSWORD lead to its console, PGHOST and PGPORT to itself."""

import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from demo import Demo  # noqa: E402

with Demo() as demo:
    told = "".join(demo.child.said)
    console, password = re.search(r"(http://\S+/) \(name owner, password (\S+)\)", told).groups()
    assert f"A question whose answers nobody stores: {console}survey" in told, told
    environment = os.environ | {"CONSOLE": console, "PASSWORD": password, "PGHOST": demo.host, "PGPORT": str(demo.port)}
    sys.exit(subprocess.run(sys.argv[1:], env=environment, timeout=300).returncode)
