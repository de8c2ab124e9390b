// Problems as errors, and retries.

import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { after, before, test } from "node:test";
import { Client, Forbidden, Invalid, NotFound, PositionExpired, Problem, QuotaExceeded, TooManyRequests, Unauthorized, Unavailable } from "tofrom";
import { Demo, note } from "./service.mjs";

let demo, alice, server, base;
let [answers, requests] = [[], 0];
before(async () => {
  demo = await Demo.start();
  alice = demo.client();
  // Gives prepared answers, for those that a demo cannot be brought to give; `null` cuts the connection.
  server = http.createServer((request, response) => {
    requests += 1;
    const answer = answers.shift();
    if (!answer) return request.socket.destroy();
    response.writeHead(answer[0], answer[1]).end(answer[2]);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  base = `http://127.0.0.1:${server.address().port}`;
});
after(async () => {
  server.closeAllConnections();
  server.close();
  await demo.kill();
});

const BUSY = [503, { "Retry-After": "0" }, ""];
const WHOAMI = [200, {}, '{"WhoAmI":{"Account":"alice","Method":"psk","Scopes":"read"}}'];
const problem = (status, kind, members = {}) => {
  const document = { type: `https://feeds.example/docs/problems/${kind}`, title: kind, status, detail: "d", ...members };
  return [status, { "X-Request-Id": "r1" }, JSON.stringify(document)];
};
const scripted = (options) => new Client(base, { key: "tfk_x" }, options);
const thrown = async (promise) => promise.then(() => assert.fail("succeeded"), (error) => error);

test("problems of the server have types", async () => {
  const invalid = await thrown(alice.collection("alice").page({ count: -1 }));
  assert.ok(invalid instanceof Invalid && invalid instanceof Problem && invalid.name === "Invalid");
  assert.deepEqual([invalid.status, invalid.kind, invalid.parameter], [400, "parameter", "count"]);
  assert.ok(invalid.message.includes("expected a whole number") && invalid.requestId);
  const missing = await thrown(alice.putActivity("alice", "Notes", "1", { Title: "x", Category: "BookmarkShared" }));
  assert.deepEqual([missing.status, missing.field], [422, "Bookmark"]);
  assert.ok((await thrown(alice.collection("dave").page())) instanceof NotFound);
  const forbidden = await thrown(alice.putActivity("bob", "Notes", "1", note("x")));
  assert.ok(forbidden instanceof Forbidden && forbidden.reason === "not-yours");
});

test("a wrong credential is unauthorized", async () => {
  for (const credential of [{ user: "alice", password: "wrong" }, { user: "unknown", password: "wrong" }, { key: "tfk_wrong" }]) {
    const client = new Client(demo.base, credential);
    const refused = await thrown(client.whoami());
    assert.ok(refused instanceof Unauthorized && refused.reason === "bad-credentials");
    assert.ok((await thrown(client.collection("alice").follow().next())) instanceof Unauthorized);
  }
  const password = demo.account("alice").password;
  assert.equal((await new Client(demo.base, { user: "alice", password }).whoami()).Method, "basic");
});

test("other problems have types", async () => {
  const cases = [
    [problem(403, "quota", { quota: "keys" }), QuotaExceeded],
    [problem(410, "cursor-expired", { first: "https://feeds.example/first" }), PositionExpired],
    [problem(410, "name-gone"), Problem],
    [problem(429, "streams"), TooManyRequests],
    [problem(503, "too-broad"), Unavailable],
    [problem(418, "teapot"), Problem],
    [[502, {}, "<html>from a proxy</html>"], Unavailable],
    [[500, {}, "null"], Problem],
  ];
  for (const [answer, kind] of cases) {
    answers = [answer];
    const error = await thrown(scripted({ retries: 0 }).collection("alice").poll({ position: "position" }).next());
    assert.equal(error.constructor, kind);
    assert.equal(error.status, answer[0]);
    if (kind === PositionExpired) assert.equal(error.first, "https://feeds.example/first");
    if (kind === QuotaExceeded) assert.deepEqual([error.quota, error.requestId], ["keys", "r1"]);
  }
});

test("safe requests are repeated", async () => {
  [answers, requests] = [[BUSY, null, [429, { "Retry-After": "0" }, ""], WHOAMI], 0];
  assert.equal((await scripted().whoami()).Account, "alice");
  assert.equal(requests, 4);
  answers = [BUSY, BUSY];
  assert.ok((await thrown(scripted({ retries: 1 }).whoami())) instanceof Unavailable);
  answers = [[503, { "Retry-After": "3600" }, ""]];
  assert.equal((await thrown(scripted().whoami())).retryAfter, 3600);
});

test("unsafe requests are not repeated", async () => {
  const client = scripted();
  for (const answer of [BUSY, null]) {
    for (const call of [
      () => client.createKey("alice"),
      () => client.deleteActivity("alice", "Notes", "1"),
      () => client.putHook("alice", "h", { url: "https://example.org/" }),
    ]) {
      [answers, requests] = [[answer], 0];
      await thrown(call());
      assert.equal(requests, 1);
    }
  }
  answers = [problem(429, "throttled")];
  assert.ok((await thrown(client.whoami())) instanceof TooManyRequests);
});

test("a call is aborted and timed out", async () => {
  const silent = http.createServer(() => {});
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const address = `http://127.0.0.1:${silent.address().port}`;
  const late = await thrown(new Client(address, { key: "tfk_x" }, { timeout: 100, retries: 0 }).whoami());
  assert.equal(late.name, "TimeoutError");
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 100);
  const aborted = await thrown(new Client(address, { key: "tfk_x" }).whoami({ signal: controller.signal }));
  assert.equal(aborted.name, "AbortError");
  silent.closeAllConnections();
  silent.close();
});

test("a plain address is refused", () => {
  assert.throws(() => new Client("http://feeds.example.org", { key: "tfk_x" }), /expected https/);
});
