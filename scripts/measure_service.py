"""Shared by the measuring scripts: builds, starts, stops and observes the service."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A parameter that the service ignores makes every page a new one, also beside another thread and in another run.
NEW_PAGES = """
local threads, number, started = 0, 0, os.time()
function setup(thread)
  threads = threads + 1
  thread:set("thread_number", threads)
end
function request()
  number = number + 1
  local separator = wrk.path:find("?", 1, true) and "&" or "?"
  return wrk.format(nil, wrk.path .. separator .. "unknown=" .. thread_number .. "-" .. started .. "-" .. number)
end
"""


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


class Unredirected(urllib.request.HTTPRedirectHandler):
    """Returns redirects as they are: they set cookies."""

    def redirect_request(self, *_):
        return None


class Service:
    """A running demo: its addresses, secrets and process."""

    def __init__(self, process, description, admin):
        self.pid = process.pid
        self.base = description["base_url"]
        self.port = int(self.base.rsplit(":", 1)[1])
        self.admin = admin
        self.accounts = {account["name"]: account for account in description["accounts"]}
        self.alice = self.accounts["alice"]
        self.consumer = (description["consumer"]["key"], description["consumer"]["secret"])
        self.ca = description["ca_cert"]
        self.data = os.path.dirname(self.ca)
        self.tls = ssl.create_default_context(cafile=self.ca)

    def get(self, path, headers):
        """Sends a request and returns status and body."""
        request = urllib.request.Request(self.base + path, headers=headers)
        with urllib.request.urlopen(request, context=self.tls, timeout=30) as response:
            return response.status, response.read()

    def session(self, name):
        """Signs in as an account on the pages and returns its session cookie."""
        fields = urllib.parse.urlencode({"username": name, "password": self.accounts[name]["password"]})
        request = urllib.request.Request(self.base + "/sign-in", data=fields.encode())
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=self.tls), Unredirected)
        try:
            opener.open(request, timeout=30)
        except urllib.error.HTTPError as answer:
            cookies = [line.split(";")[0] for line in answer.headers.get_all("Set-Cookie", [])]
            for cookie in cookies:
                if cookie.startswith("__Host-session="):
                    return cookie
        raise SystemExit(f"{name} could not sign in")

    def metric(self, name):
        """The value of a metric from /metrics."""
        with urllib.request.urlopen(f"http://{self.admin}/metrics", timeout=30) as response:
            for line in response.read().decode().splitlines():
                if line.startswith(name + " "):
                    return float(line.split()[1])
        return 0.0


def free_port():
    """A free port at 127.0.0.1."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def demo(release, log="info", settings=None, config=None):
    """The demo in a temporary folder, with its log in a file there. `settings` are environment variables. With `config`,
    the settings file of a cluster, only the log is in that folder."""
    folder = tempfile.mkdtemp(prefix="tofrom-measure-")
    try:
        admin = f"127.0.0.1:{free_port()}"
        command = [release / "tofrom", "demo", "--json", "--listen", "127.0.0.1:0", "--admin", admin]
        command += ["--config", config] if config else ["--data", os.path.join(folder, "data")]
        with open(os.path.join(folder, "log"), "w") as lines:
            environment = {**os.environ, "TOFROM_LOG": log, "TOFROM_LOG_FORMAT": "json", **(settings or {})}
            with running(command, stderr=lines, env=environment) as (process, line):
                yield Service(process, json.loads(line), admin)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def load(address, pid, headers, seconds, script=None):
    """Puts load on a server. Returns the number of requests and the CPU seconds of its process."""
    command = ["wrk", "--threads", "2", "--connections", "16", "--duration", f"{seconds}s"]
    for name, value in headers.items():
        command += ["--header", f"{name}: {value}"]
    if script:
        command += ["--script", script]
    before = cpu_seconds(pid)
    output = subprocess.run(command + [address], check=True, capture_output=True, text=True).stdout
    spent = cpu_seconds(pid) - before
    if "Non-2xx" in output or "Socket errors" in output:
        sys.exit(f"wrk at {address}: {output}")
    return int(re.search(r"(\d+) requests in", output).group(1)), spent


@contextlib.contextmanager
def new_page_script():
    """The path of a script for `load` by which every request asks for a new page."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(NEW_PAGES)
        script.flush()
        yield script.name


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
