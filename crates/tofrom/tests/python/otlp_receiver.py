"""Receives traces by OTLP over HTTP, and decodes them with OpenTelemetry's own package.

    otlp_receiver.py

Prints the port, then a line of JSON for each span. Ends with its input.
"""

import http.server
import json
import sys
import threading

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

printing = threading.Lock()


def values(attributes):
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


def described(span, resource):
    return {
        "trace": span.trace_id.hex(),
        "id": span.span_id.hex(),
        "parent": span.parent_span_id.hex(),
        "name": span.name,
        "kind": Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
        "start": span.start_time_unix_nano,
        "end": span.end_time_unix_nano,
        "failed": span.status.code == Status.STATUS_CODE_ERROR,
        "attributes": values(span.attributes),
        "events": len(span.events),
        "links": [[link.trace_id.hex(), link.span_id.hex()] for link in span.links],
        "resource": resource,
    }


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/v1/traces" or self.headers["Content-Type"] != "application/x-protobuf":
            return self.send_error(404)
        for group in ExportTraceServiceRequest.FromString(body).resource_spans:
            resource = values(group.resource.attributes)
            for scope in group.scope_spans:
                for span in scope.spans:
                    with printing:
                        print(json.dumps(described(span, resource)), flush=True)
        answer = ExportTraceServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
