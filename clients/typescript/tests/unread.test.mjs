// The seen position, unread counts and hooks.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { NotFound } from "tofrom";
import { Demo, newService, note } from "./service.mjs";

let demo, alice, unsupported;
before(async () => {
  demo = await Demo.start();
  alice = demo.client();
  unsupported = await alice.collection("alice").unread().then(
    () => false,
    (error) => error instanceof NotFound && "the server does not count unread activities",
  );
});
after(() => demo.kill());

test("unread counts what arrived after the seen position", async (context) => {
  if (unsupported) return context.skip(unsupported);
  const service = newService();
  const feed = alice.collection("alice", "from", { service });
  await feed.markSeen();
  const position = await feed.position();
  for (const number of [0, 1, 2]) await alice.putActivity("alice", service, `${number}`, note(`${number}`));
  const stream = feed.follow({ position });
  const [first, second] = [(await stream.next()).value, (await stream.next()).value];
  // The third has arrived, too.
  await stream.next();
  const unread = await feed.unread();
  assert.deepEqual([unread.count, unread.atLeast], [3, false]);
  assert.deepEqual((await feed.updates(unread.position)).activities.map((activity) => activity.Title), ["0", "1", "2"]);
  await feed.markSeen(second.position);
  // Other devices of the account are notified, and their own position stays.
  let event;
  do event = (await stream.next()).value;
  while (event.type !== "seen");
  await stream.return();
  assert.equal((await feed.unread()).count, 1);
  assert.equal((await feed.updates(event.cursor)).activities.length, 1);
  await feed.markSeen(first.position);
  assert.equal((await feed.unread()).count, 1, "the seen position moves forward only");
});

test("a hook is created, rotated and removed", async (context) => {
  if (unsupported) return context.skip(unsupported);
  const url = "https://93.184.216.34/hook";
  const created = await alice.putHook("alice", "search", { url, collection: "from", type: ["note"] });
  assert.ok(created.Secret.startsWith("whsec_"));
  assert.equal((await alice.hook("alice", "search")).Secret, undefined);
  assert.deepEqual((await alice.hooks("alice")).map((hook) => hook.Name), ["search"]);
  assert.notEqual((await alice.rotateHook("alice", "search")).Secret, created.Secret);
  await alice.resumeHook("alice", "search");
  await alice.deleteHook("alice", "search");
  await assert.rejects(alice.hook("alice", "search"), NotFound);
});
