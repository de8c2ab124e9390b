"""schemathesis against the service: every operation of /openapi.json, with generated parameters and bodies.

Reads its parameters as JSON from standard input, prints a line for each property that holds: no answer is a server
error, each has a described status, media type, headers and content, and every operation succeeded at least once.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import requests
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
    "lines_as_described",
]
METHODS = {"get", "head", "put", "post", "delete"}
# These need a signature. The OAuth clients test them.
STEPS = {f"{method} /oauth/{step}" for method in ("GET", "POST") for step in ("request_token", "access_token")}
SIGNED = {"DELETE /200909/whoami/token"} | STEPS

params = json.load(sys.stdin)
base = params["base"]
document = requests.get(f"{base}/openapi.json").json()
OpenAPIV31SpecValidator(document).validate()
print(f"valid {document['openapi']}")


def examples(value):
    """The examples of bodies, each with its schema."""
    if isinstance(value, dict):
        if "example" in value and "in" not in value:
            yield value["schema"], value["example"]
        for inner in value.values():
            yield from examples(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from examples(inner)


problem = document["components"]["schemas"]["Problem"]
for schema, example in [*examples(document["paths"]), (problem, problem["examples"][0])]:
    Draft202012Validator(schema | {"components": document["components"]}).validate(example)

# Something to read, and something to remove.
headers = {"ServicePSK": params["key"], "Accept": "application/json"}
kept = {"Category": "BookmarkShared", "Title": "Kept", "Bookmark": {"Title": "Kept", "Url": "https://example.org/"}}
item = requests.put(f"{base}/200909/activity/alice/from/Delicious/kept", json=kept, headers=headers)
item.raise_for_status()
source = f"{base}/200909/user/alice/sources/kept"
requests.put(source, json={"Address": params["feed"]}, headers=headers).raise_for_status()
for name in ("kept", "removed"):
    hook = f"{base}/200909/user/alice/hooks/{name}"
    requests.put(hook, json={"Url": params["receiver"], "Collection": "from"}, headers=headers).raise_for_status()
revoked = requests.post(f"{base}/200909/user/alice/keys", json={"Name": "to revoke"}, headers=headers)
revoked.raise_for_status()
page = requests.get(f"{base}/200909/activity/alice/to?count=1", headers=headers).json()
received = page["Activities"]["Activity"][0]["ActivityIdentifier"]

settings = f"""
hooks = "schemathesis_hooks"
# Concurrent generation of values is not thread-safe.
workers = 1
seed = 20
tls-verify = {json.dumps(params["ca"])}
request-timeout = 10.0
generation = {{ max-examples = 20, with-security-parameters = false, database = "none" }}
headers = {{ ServicePSK = {json.dumps(params["key"])}, Accept = "application/json" }}
parameters = {{ "header.ServiceConsumerKey" = {json.dumps(params["consumer"]["key"])} }}
"""
with tempfile.TemporaryDirectory() as folder:
    Path(folder, "schemathesis.toml").write_text(settings)
    seen = Path(folder, "seen")
    program = Path(sys.executable).with_name("schemathesis")
    command = [program, "--config-file", "schemathesis.toml", "run", f"{base}/openapi.json", "--checks", ",".join(CHECKS)]
    command += ["--phases", "examples,coverage,fuzzing", "--continue-on-failure", "--warnings", "off", "--no-color"]
    environment = {"PYTHONPATH": Path(__file__).parent, "PYTHONDONTWRITEBYTECODE": "1", "SEEN": seen}
    environment |= {"RECEIVED": received, "FEED": params["feed"], "RECEIVER": params["receiver"], "KEPT": item.headers["Location"].rsplit("/", 1)[1]}
    environment |= {"REVOKED": revoked.json()["Key"]["Id"]}
    environment = os.environ | {name: str(value) for name, value in environment.items()}
    run = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    answers = [line.split(" ", 1) for line in seen.read_text().splitlines()]

if run.returncode:
    sys.exit(run.stdout)
operations = {f"{method.upper()} {path}" for path, item in document["paths"].items() for method in METHODS & item.keys()}
done = {label for status, label in answers if status < "300"}
# It reads the description once, before everything else.
lacking = operations - done - SIGNED - {"GET /openapi.json"}
assert not lacking, f"never done: {lacking}"
print(f"{len(operations)} operations")
print(f"{len(answers)} cases, {sum(status < '300' for status, _ in answers)} of them done")
