// Verification of deliveries, against the reference implementation of Standard Webhooks.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { Webhook } from "standardwebhooks";
import { InvalidDelivery, verify } from "tofrom/webhooks";

const [OLD, NEW] = [1, 2].map(() => `whsec_${randomBytes(24).toString("base64")}`);
const data = { Title: "Grüße ✓" };
const BODY = JSON.stringify({ type: "activity", timestamp: "2026-11-18T02:00:00Z", data });

function signed(secrets, at = new Date(), body = BODY) {
  const signatures = secrets.map((secret) => new Webhook(secret).sign("msg_1", at, body)).join(" ");
  return { "webhook-id": "msg_1", "webhook-timestamp": `${Math.floor(at.getTime() / 1000)}`, "webhook-signature": signatures };
}

test("a delivery is verified", async () => {
  const expected = { id: "msg_1", type: "activity", timestamp: "2026-11-18T02:00:00Z", data };
  assert.deepEqual(await verify(signed([OLD]), BODY, OLD), expected);
  assert.deepEqual(await verify(new Headers(signed([OLD])), new TextEncoder().encode(BODY), OLD), expected);
});

test("a rotation loses nothing", async () => {
  for (const secrets of [OLD, NEW, [OLD, NEW], [NEW]]) {
    assert.equal((await verify(signed([OLD, NEW]), BODY, secrets)).id, "msg_1");
  }
  assert.equal((await verify(signed([NEW]), BODY, [OLD, NEW])).id, "msg_1");
  await assert.rejects(verify(signed([NEW]), BODY, OLD), InvalidDelivery);
});

test("other signatures are ignored", async () => {
  const headers = signed([OLD]);
  headers["webhook-signature"] = `v1a,abc v2,def v1,é ${headers["webhook-signature"]} v1,`;
  assert.equal((await verify(headers, BODY, OLD)).id, "msg_1");
});

test("the time must be near", async () => {
  for (const minutes of [-6, 6]) {
    const headers = signed([OLD], new Date(Date.now() + minutes * 60_000));
    await assert.rejects(verify(headers, BODY, OLD), /clock/);
    assert.equal((await verify(headers, BODY, OLD, { tolerance: 600 })).id, "msg_1");
  }
});

test("a changed request is refused", async () => {
  for (const change of [
    { "webhook-id": "msg_2" },
    { "webhook-id": undefined },
    { "webhook-timestamp": "1e9" },
    { "webhook-signature": "v1,AAAA" },
    { "webhook-signature": "" },
  ]) {
    await assert.rejects(verify({ ...signed([OLD]), ...change }, BODY, OLD), InvalidDelivery);
  }
  await assert.rejects(verify(signed([OLD]), `${BODY} `, OLD), InvalidDelivery);
  await assert.rejects(verify(signed([OLD], new Date(), "[]"), "[]", OLD), /expected JSON/);
});

test("a wrong secret is a mistake of the receiver", async () => {
  await assert.rejects(verify(signed([OLD]), BODY, "whsec_not base64"), TypeError);
});
