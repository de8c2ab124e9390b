// Live streams: nothing is missing and nothing comes twice, however connections end.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, Unauthorized } from "tofrom";
import { Decoder } from "../dist/events.js";
import { Demo, Proxy, cutAfter, dribble, newService, note } from "./service.mjs";

let demo, alice;
before(async () => {
  demo = await Demo.start();
  alice = demo.client();
});
after(() => demo.kill());

const range = (first, end) => Array.from({ length: end - first }, (_, at) => first + at);

async function write(service, numbers) {
  const items = numbers.map((number) => ({ SourceId: `${number}`, SourceService: { Name: service }, ...note(`Note ${number} é✓\u0085`) }));
  const results = await alice.postActivities("alice", items);
  assert.ok(results.every((result) => "created" in result));
}

// The events that arrive.
async function events(feed, count, options) {
  const found = [];
  for await (const event of feed.follow(options)) {
    found.push(event);
    if (found.length === count) return found;
  }
}

const numbers = (found) => found.map((event) => Number(event.activity.Title.split(" ")[1]));

test("events arrive in order and once", async () => {
  const service = newService();
  const feed = alice.collection("alice", "from", { service });
  const position = await feed.position();
  await write(service, range(0, 30));
  const found = await events(feed, 30, { position });
  assert.deepEqual(numbers(found), range(0, 30));
  assert.equal(found[3].activity.Title, "Note 3 é✓\u0085");
  // Any event's position resumes after it.
  assert.deepEqual(numbers(await events(feed, 18, { position: found[11].position })), range(12, 30));
  await alice.deleteActivity("alice", service, "29");
  assert.equal((await events(feed, 30, { position })).at(-1).type, "deleted");
});

test("a follower without a position begins now, and is aborted", async () => {
  const service = newService();
  const arriving = alice.collection("alice", "from", { service });
  const position = await arriving.position();
  await write(service, [1]);
  // What is accepted arrives a moment later.
  assert.deepEqual(numbers(await events(arriving, 1, { position })), [1]);
  const controller = new AbortController();
  const stream = alice.collection("alice", "from", { service, orderBy: "pubDate" }).follow({ signal: controller.signal });
  const first = stream.next();
  await sleep(1000);
  await write(service, [2]);
  assert.deepEqual(numbers([(await first).value]), [2]);
  const second = stream.next();
  controller.abort();
  await assert.rejects(second, { name: "AbortError" });
});

test("a kill of the server makes no hole", async () => {
  const service = newService();
  const feed = alice.collection("alice", "from", { service });
  const position = await feed.position();
  const reading = events(feed, 60, { position });
  for (const number of range(0, 60)) {
    if (number % 20 === 10) {
      await demo.kill();
      await demo.start();
    }
    await write(service, [number]);
  }
  assert.deepEqual(numbers(await reading), range(0, 60));
});

for (const [name, behaviour] of [["cuts", cutAfter(24_000)], ["dribbles", dribble]]) {
  test(`a proxy that ${name} makes no hole`, async () => {
    const service = newService();
    const position = await alice.collection("alice", "from", { service }).position();
    await write(service, range(0, 120));
    const proxy = await Proxy.start(demo.port, behaviour);
    try {
      const feed = demo.client("alice", proxy.base).collection("alice", "from", { service });
      assert.deepEqual(numbers(await events(feed, 120, { position })), range(0, 120));
      assert.ok(name === "dribbles" || proxy.connections > 2);
    } finally {
      proxy.stop();
    }
  });
}

test("a silent connection counts as broken", async () => {
  const service = newService();
  const proxy = await Proxy.start(demo.port);
  try {
    const feed = demo.client("alice", proxy.base).collection("alice", "from", { service });
    const position = await feed.position();
    await write(service, [1]);
    const stream = feed.follow({ position, silence: 1000 });
    await stream.next();
    const before = proxy.connections;
    proxy.stalled = true;
    setTimeout(() => (proxy.stalled = false), 1500);
    await write(service, [2]);
    assert.deepEqual(numbers([(await stream.next()).value]), [2]);
    assert.ok(proxy.connections > before);
    await stream.return();
  } finally {
    proxy.stop();
  }
});

test("a slow reader gets everything", async () => {
  const service = newService();
  const feed = alice.collection("alice", "from", { service });
  const position = await feed.position();
  await write(service, range(0, 50));
  const found = [];
  for await (const event of feed.follow({ position, silence: 500 })) {
    found.push(event);
    // Longer than the allowed silence: the time of the reader does not count.
    if ([5, 30].includes(found.length)) await sleep(800);
    if (found.length === 50) break;
  }
  assert.deepEqual(numbers(found), range(0, 50));
});

test("an unfollow is incomplete", async () => {
  const erin = demo.client("erin");
  const feed = erin.collection("erin", "to");
  await erin.addFollowing("erin", "bob");
  const position = await feed.position();
  await erin.removeFollowing("erin", "bob");
  for await (const event of feed.follow({ position })) {
    if (event.type !== "incomplete") continue;
    assert.ok(event.url.startsWith(`${demo.base}/200909/activity/erin/to`));
    break;
  }
});

test("a revoked key ends the stream", async () => {
  const key = await alice.createKey("alice", { ExpiresIn: 600 });
  const next = new Client(demo.base, { key: key.Key }).collection("alice").follow().next();
  setTimeout(() => alice.revokeKey("alice", key.Id), 1000);
  await assert.rejects(next, Unauthorized);
});

test("a first connection that fails is an error", async () => {
  const client = new Client("https://127.0.0.1:1", { key: "tfk_x" }, { retries: 1 });
  await assert.rejects(client.collection("alice").follow({ position: "x" }).next(), TypeError);
});

test("the decoder takes pieces of any size", () => {
  const text = ':\n\nevent: activity\r\nid: 1\r\ndata: {"Title": "é\u2028"}\r\n\r\nretry: 700\n\nevent: new\ndata: a\rdata:b\r\rid: 2\n\n';
  const raw = new TextEncoder().encode(text);
  for (const size of [1, 2, 3, 1000]) {
    const decoder = new Decoder();
    const found = [];
    for (let at = 0; at < raw.length; at += size) {
      for (const message of decoder.feed(raw.subarray(at, at + size))) found.push([message.event, message.id, message.data.join("\n")]);
    }
    assert.deepEqual(found, [["activity", "1", '{"Title": "é\u2028"}'], ["new", undefined, "a\nb"]]);
    assert.equal(decoder.retry, 700);
  }
});
