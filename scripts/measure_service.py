"""Shared by the measuring scripts: builds, starts, stops and observes the service."""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent


def built(folder):
    """The folder with the service and static_answer: the given one, otherwise a new release build."""
    if folder:
        return pathlib.Path(folder)
    command = ["cargo", "build", "--release", "--quiet", "-p", "tofrom", "--bin", "tofrom", "--example", "static_answer"]
    subprocess.run(command, cwd=ROOT, check=True)
    metadata = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=ROOT, check=True, capture_output=True
    )
    return pathlib.Path(json.loads(metadata.stdout)["target_directory"]) / "release"


@contextlib.contextmanager
def running(command, **more):
    """A process and its first line of output. The process is terminated at the end of the context."""
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True, **more)
    try:
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"{command[0]} did not start")
        yield process, line
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()


class Service:
    """A running demo: its addresses, secrets and process."""

    def __init__(self, process, description, admin):
        self.pid = process.pid
        self.base = description["base_url"]
        self.port = int(self.base.rsplit(":", 1)[1])
        self.admin = admin
        self.alice = next(account for account in description["accounts"] if account["name"] == "alice")
        self.consumer = (description["consumer"]["key"], description["consumer"]["secret"])
        self.ca = description["ca_cert"]
        self.data = os.path.dirname(self.ca)
        self.tls = ssl.create_default_context(cafile=self.ca)

    def get(self, path, headers):
        """Sends a request and returns status and body."""
        request = urllib.request.Request(self.base + path, headers=headers)
        with urllib.request.urlopen(request, context=self.tls, timeout=30) as response:
            return response.status, response.read()

    def metric(self, name):
        """The value of a metric from /metrics."""
        with urllib.request.urlopen(f"http://{self.admin}/metrics", timeout=30) as response:
            for line in response.read().decode().splitlines():
                if line.startswith(name + " "):
                    return float(line.split()[1])
        return 0.0


@contextlib.contextmanager
def demo(release, log="info", settings=None):
    """The demo in a temporary folder, with its log in a file there. `settings` are environment variables."""
    folder = tempfile.mkdtemp(prefix="tofrom-measure-")
    try:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            admin = "127.0.0.1:%d" % free.getsockname()[1]
        command = [release / "tofrom", "demo", "--json", "--listen", "127.0.0.1:0", "--admin", admin]
        command += ["--data", os.path.join(folder, "data")]
        with open(os.path.join(folder, "log"), "w") as lines:
            environment = {**os.environ, "TOFROM_LOG": log, "TOFROM_LOG_FORMAT": "json", **(settings or {})}
            with running(command, stderr=lines, env=environment) as (process, line):
                yield Service(process, json.loads(line), admin)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def cpu_seconds(pid):
    """User and system time of a process with all its threads."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_kib(pid):
    """Resident memory of a process in KiB."""
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def machine():
    """A description of this machine."""
    with open("/proc/cpuinfo") as cpus:
        model = next((line.split(":", 1)[1].strip() for line in cpus if line.startswith("model name")), "unknown")
    return f"{os.cpu_count()} cores, {model}"
