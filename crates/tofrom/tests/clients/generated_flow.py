"""A client that openapi-python-client generates from /openapi.json reads a page and a problem, with types.

Reads its parameters as JSON from standard input, prints a line for each property that holds.
"""

import datetime
import json
import os
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path

import requests

params = json.load(sys.stdin)
folder = tempfile.TemporaryDirectory()
source, settings = Path(folder.name, "openapi.json"), Path(folder.name, "settings.json")
source.write_bytes(requests.get(f"{params['base']}/openapi.json").content)
# It would format the client, which takes longer than to generate it.
settings.write_text(json.dumps({"post_hooks": []}))
run = subprocess.run(
    [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--path", source]
    + ["--output-path", Path(folder.name, "generated"), "--config", settings],
    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | {"COLUMNS": "1000"},
)
assert run.returncode == 0, run.stdout
# It knows JSON only, and says so of the other representations. Everything else it can express.
reasons = [line for line in run.stdout.splitlines() if line.startswith(("Unsupported", "Cannot", "Unable", "Failure"))]
assert reasons and all("Unsupported content" in line for line in reasons), run.stdout
print("python generated")

sys.path.insert(0, folder.name)
from generated import AuthenticatedClient  # noqa: E402
from generated.api.activities import put_activity  # noqa: E402
from generated.api.collections import read_to_from  # noqa: E402
from generated.models import Activities, Activity, NewActivity, NewObject, Object, Problem, ReadToFromFormat  # noqa: E402
from generated.types import UNSET  # noqa: E402

client = AuthenticatedClient(
    base_url=params["base"], token=params["key"], prefix="", auth_header_name="ServicePSK",
    verify_ssl=ssl.create_default_context(cafile=os.environ["REQUESTS_CA_BUNDLE"]),
)


def read(**parameters):
    return read_to_from.sync(params["account"], client=client, format_=ReadToFromFormat.JSON, **parameters)


page = read(type_=["photo", "bookmark"], count=20)
assert isinstance(page, Activities), page
for activity in page.activities.activity:
    assert isinstance(activity, Activity) and isinstance(activity.received_date, datetime.datetime), activity
    assert isinstance(activity.source_user.user_identifier, str), activity
    found = [value for value in (activity.photo, activity.bookmark) if value is not UNSET]
    assert len(found) == 1 and isinstance(found[0], Object) and not activity.additional_properties, activity
assert len(page.activities.activity) == 20, page
# The vocabulary is open: a type that has no named field is as typed as the others.
assert Activity.from_dict(page.activities.activity[0].to_dict() | {"Opera": {"Title": "Aida"}})["Opera"].title == "Aida"
print("python page")

problem = read(count=-1)
assert isinstance(problem, Problem) and problem.type_.endswith("/docs/problems/parameter"), problem
assert (problem.status, problem.parameter, problem.field) == (400, "count", UNSET), problem
# An account may not write for another one.
new = NewActivity(title="Not hers", category="BookmarkShared", bookmark=NewObject(url="https://example.org/"))
problem = put_activity.sync("bob", "Delicious", "1", client=client, body=new)
assert isinstance(problem, Problem) and (problem.status, problem.reason) == (403, "not-yours"), problem
print("python problem")
