"""An independent hub (Flask-WebSub) notifies the service.

    websub.py path/to/tofrom FOLDER

The hub verifies the service's subscription, fetches the published feed, signs it and sends it on. The service must show
it without fetching from the feed's server again. Otherwise exit code 1 and the reason.
"""

import http.server
import json
import os
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

from celery import Celery
from flask import Flask
from flask_websub.hub import Hub, SQLite3HubStorage
from werkzeug.serving import make_server

PATIENCE = 30
titles = ["Before the hub"]
asked = []


class Feed(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.headers["User-Agent"])
        entries = "".join(
            f"<entry><id>urn:entry:{number}</id><title>{title}</title><updated>2026-11-15T10:00:00Z</updated>"
            f'<link href="{address}/{number}"/></entry>'
            for number, title in enumerate(titles)
        )
        body = (
            '<feed xmlns="http://www.w3.org/2005/Atom"><id>urn:feed</id><title>With a hub</title>'
            f"<updated>2026-11-15T10:00:00Z</updated>{entries}</feed>"
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/atom+xml")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Link", f'<{hub}>; rel="hub", <{address}>; rel="self"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def until(what, found):
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        if found():
            return
        time.sleep(0.1)
    sys.exit(f"{what}: not within {PATIENCE} s")


binary, folder = sys.argv[1:]
feeds = http.server.ThreadingHTTPServer(("127.0.0.2", 0), Feed)
address = f"http://127.0.0.2:{feeds.server_port}/feed"
threading.Thread(target=feeds.serve_forever, daemon=True).start()

app, tasks = Flask(__name__), Celery()
tasks.conf.task_always_eager = True
app.config["PUBLISH_SUPPORTED"] = True
storage = SQLite3HubStorage(os.path.join(folder, "hub.sqlite3"))
app.register_blueprint(Hub(storage, tasks).build_blueprint(url_prefix="/hub"))
hubs = make_server("127.0.0.3", 0, app, threaded=True)
hub = f"http://127.0.0.3:{hubs.server_port}/hub"
threading.Thread(target=hubs.serve_forever, daemon=True).start()

settings = {
    "TOFROM_SOURCES__NETWORKS": "127.0.0.0/8",
    "TOFROM_SOURCES__PORTS": f"{feeds.server_port},{hubs.server_port}",
    "TOFROM_LOG": "error",
}
demo = [binary, "demo", "--json", "--listen", "127.0.0.1:0", "--data", os.path.join(folder, "demo")]
service = subprocess.Popen(demo, stdout=subprocess.PIPE, env=os.environ | settings)
try:
    ready = json.loads(service.stdout.readline())
    os.environ["REQUESTS_CA_BUNDLE"] = ready["ca_cert"]
    trust = ssl.create_default_context(cafile=ready["ca_cert"])
    [key] = [account["key"] for account in ready["accounts"] if account["name"] == "alice"]

    def ask(method, path, body=None):
        headers = {"ServicePSK": key, "Accept": "application/json", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(ready["base_url"] + path, data, headers, method=method)
        with urllib.request.urlopen(request, context=trust) as answer:
            return answer.read().decode()

    source = "/200909/user/alice/sources/with-a-hub"
    ask("PUT", source, {"Address": address})
    until("the subscription", lambda: "A hub sends updates" in ask("GET", source))

    by_the_service = [agent for agent in asked if agent.startswith("tofrom/")]
    titles.append("Sent by the hub")
    publish = urllib.parse.urlencode({"hub.mode": "publish", "hub.topic": address, "hub.url": address}).encode()
    urllib.request.urlopen(hub, publish).read()
    until("the news", lambda: "Sent by the hub" in ask("GET", "/200909/activity/alice/from?count=5"))
    if [agent for agent in asked if agent.startswith("tofrom/")] != by_the_service:
        sys.exit("the service fetched from the feed's server, although the hub sent everything")
finally:
    service.terminate()
    service.wait()
