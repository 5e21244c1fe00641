"""`noisegate demo` as a child process, and checks run one by one: what the Python suites share."""

import os
import subprocess
import sys
import threading


class Demo:
    """`noisegate demo` on a free port, ended with the block. NOISEGATE_BIN is the program."""

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

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait(timeout=60)


def run(name, checks, one):
    """Runs `one(demo, check)` for each check, prints a line for each and a closing count; gives the exit status."""
    failed = 0
    with Demo() as demo:
        for check in checks:
            try:
                one(demo, check)
                print(f"ok    {check.__name__}")
            except Exception as error:  # each check is judged by itself
                failed += 1
                print(f"FAIL  {check.__name__}: {error!r}")
    print(f"{name}: {len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0
