"""Adapts schemathesis to the service."""

import json
import os

import schemathesis
from jsonschema import Draft202012Validator

# The examples of the description are about alice, so most requests are; she must not be removed. Erin may be.
SPARED, REMOVED = "alice", "erin"
USER, ITEM, RECEIVED = "/200909/user/{user}", "/200909/activity/{user}/from/{service}/{source}", "/200909/activity/{user}/to/{activity}"
ACTIVITY, EXAMPLE = "/activity/{activity}", "01a1dc1e-de01-7f0f-88b3-717cbb004bb1"

KEY, EXAMPLE_KEY = "/200909/user/{user}/keys/{id}", "be94dd29c62fe27e"
SOURCES, SOURCE = "/200909/user/{user}/sources", "/200909/user/{user}/sources/{name}"
HOOK = "/200909/user/{user}/hooks/{name}"


@schemathesis.hook
def before_call(context, case, kwargs):
    names, method, path = case.path_parameters, case.method, case.operation.path
    if (method, path) == ("DELETE", USER) and names["user"] == SPARED:
        names["user"] = REMOVED
    # The examples name activities that do not exist or are deleted by now. These exist.
    elif path == ITEM and method in ("GET", "HEAD") and names["user"] == SPARED:
        names |= {"service": "Delicious", "source": "kept"}
    elif path == ACTIVITY and names["activity"] == EXAMPLE:
        names["activity"] = os.environ["KEPT"]
    elif path == RECEIVED and names["user"] == SPARED:
        names["activity"] = os.environ["RECEIVED"]
    elif path == KEY and names["user"] == SPARED and names["id"] == EXAMPLE_KEY:
        names["id"] = os.environ["REVOKED"]
    elif path == SOURCE and method in ("GET", "HEAD") and names["user"] == SPARED:
        names["name"] = "kept"
    elif path.startswith(HOOK) and method != "PUT" and names["user"] == SPARED:
        names["name"] = "removed" if method == "DELETE" else "kept"
    # Generated addresses would be fetched: replace them by that of the test's own server.
    if path in (SOURCES, SOURCE) and isinstance(case.body, dict):
        for fields in (case.body, case.body.get("Source")):
            if isinstance(fields, dict) and isinstance(fields.get("Address"), str):
                fields["Address"] = os.environ["FEED"]
    if path == HOOK and isinstance(case.body, dict):
        for fields in (case.body, case.body.get("Hook")):
            if isinstance(fields, dict) and isinstance(fields.get("Url"), str):
                fields["Url"] = os.environ["RECEIVER"]


@schemathesis.hook
def after_call(context, case, response):
    """Records the status, so that the caller can check the coverage."""
    with open(os.environ["SEEN"], "a") as seen:
        print(response.status_code, case.operation.label, file=seen)


@schemathesis.check
def lines_as_described(context, response, case):
    """The schema applies to each line, which schemathesis does not check itself."""
    if response.headers.get("content-type") == ["application/x-ndjson"]:
        one = {"$ref": "#/components/schemas/BatchLine", "components": case.operation.schema.raw_schema["components"]}
        results = [json.loads(line) for line in response.text.splitlines()]
        assert results, "no line"
        for line in results:
            wrong = [error.message for error in Draft202012Validator(one).iter_errors(line)]
            assert not wrong, f"{wrong} of {line}"


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    """The schema is that of a line; a body has two."""
    line = value if isinstance(value, bytes) else json.dumps(value).encode()
    return {"data": line + b"\n" + line + b"\n"}
