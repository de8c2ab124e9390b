// Reading and writing: pages, filters, updates, accounts, keys, OAuth.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import OAuth from "oauth-1.0a";
import { Client, NotFound, Problem, Unauthorized, objectOf } from "tofrom";
import { oauth1 } from "tofrom/oauth";
import { Demo, Proxy, newService, note } from "./service.mjs";

let demo, alice;
before(async () => {
  demo = await Demo.start();
  alice = demo.client();
});
after(() => demo.kill());

const all = (iterable) => Array.fromAsync?.(iterable) ?? collect(iterable);
async function collect(iterable) {
  const found = [];
  for await (const item of iterable) found.push(item);
  return found;
}

test("pages have each activity once", async () => {
  const pages = await all(alice.collection("alice").pages({ count: 60 }));
  const identifiers = pages.flatMap((page) => page.activities).map((activity) => activity.ActivityIdentifier);
  assert.ok(pages.length > 3 && identifiers.length > 300 && new Set(identifiers).size === identifiers.length);
  assert.deepEqual(pages.map((page) => page.next === undefined), pages.map((_, at) => at === pages.length - 1));
  const again = await all(alice.collection("alice").activities());
  assert.deepEqual(again.map((activity) => activity.ActivityIdentifier), identifiers);
});

test("filters select", async () => {
  const found = await all(alice.collection("alice", "tofrom", { type: ["photo", "bookmark"], verb: "posted" }).activities());
  assert.ok(found.length > 0);
  for (const activity of found) assert.ok(["Photo", "Bookmark"].includes(objectOf(activity)[0]));
  const page = await alice.collection("alice", "tofrom", { orderBy: "pubDate" }).page({ count: 3, start: 1 });
  assert.equal(page.activities.length, 3);
  const tomorrow = new Date(Date.now() + 86_400_000);
  assert.deepEqual((await alice.collection("alice", "to", { receivedSince: tomorrow }).page()).activities, []);
});

test("an activity is written, read and deleted", async () => {
  const [service, source] = [newService(), "a/b c?é"];
  const first = await alice.putActivity("alice", service, source, note("Hello"));
  const again = await alice.putActivity("alice", service, source, note("Hello again"));
  assert.deepEqual([first.created, again.created, again.url], [true, false, first.url]);
  const read = await alice.authoredActivity("alice", service, source);
  assert.equal(read.Title, "Hello again");
  assert.deepEqual(await alice.activity(read.ActivityIdentifier), read);
  await alice.putActivity("alice", service, "opera", { Verb: "seen", Type: "opera", Title: "x", Opera: { Title: "Aida" } });
  assert.deepEqual(objectOf(await alice.authoredActivity("alice", service, "opera")), ["Opera", { Title: "Aida" }]);
  await alice.deleteActivity("alice", service, source);
  await assert.rejects(alice.deleteActivity("alice", service, source), NotFound);
});

test("a batch reports each activity", async () => {
  const service = newService();
  const items = Array.from({ length: 1001 }, (_, at) => ({ SourceId: `${at}`, SourceService: { Name: service }, ...note("x") }));
  delete items[7].Title;
  const results = await alice.postActivities("alice", items);
  assert.equal(results.length, 1001);
  assert.ok(results[7] instanceof Problem && results[7].status === 422 && results[7].detail.includes("Title"));
  assert.equal(results.filter((result) => result.created).length, 1000);
});

test("updates bring what arrived", async () => {
  const service = newService();
  const feed = alice.collection("alice", "from", { service });
  let position = await feed.position();
  for (let at = 0; at < 5; at += 1) await alice.putActivity("alice", service, `${at}`, note(`${at}`));
  const titles = [];
  for await (const page of feed.poll({ position, count: 2, interval: 100 })) {
    titles.push(...page.activities.map((activity) => activity.Title));
    position = page.position;
    if (titles.length === 5) break;
  }
  assert.deepEqual(titles, ["0", "1", "2", "3", "4"]);
  assert.deepEqual((await feed.updates(position)).activities, []);
  const last = (await all(feed.pages({ count: 2 }))).at(-1);
  assert.deepEqual((await feed.updates(last.position)).activities, []);
});

test("requests stay at the address of the client", async () => {
  // Links in answers name the public address, which is not the proxy's.
  const proxy = await Proxy.start(demo.port);
  try {
    const found = await all(demo.client("alice", proxy.base).collection("alice", "tofrom", { type: "photo" }).activities({ count: 10 }));
    assert.ok(found.length > 10 && proxy.connections > 0);
  } finally {
    proxy.stop();
  }
});

test("accounts and following", async () => {
  const operator = demo.client("ops");
  const name = `zoe${process.pid}`;
  await operator.putUser(name, { GivenName: "Zoë", Public: true });
  assert.equal((await operator.user(name)).GivenName, "Zoë");
  await alice.addFollowing("alice", name);
  assert.ok((await all(alice.following("alice"))).some((user) => user.UserIdentifier === name));
  assert.deepEqual((await all(operator.followers(name))).map((user) => user.UserIdentifier), ["alice"]);
  await alice.addFollowing("alice", name, { filter: { Service: ["flickr"] } });
  await alice.removeFollowing("alice", name);
  await alice.mute("alice", name);
  await alice.block("alice", name);
  await alice.removeFollower("alice", name);
  for (const listed of [alice.muted("alice"), alice.blocked("alice")]) {
    assert.deepEqual((await all(listed)).map((user) => user.UserIdentifier), [name]);
  }
  await alice.unmute("alice", name);
  await alice.unblock("alice", name);
  assert.deepEqual([...(await all(alice.muted("alice"))), ...(await all(alice.blocked("alice")))], []);
  await operator.deleteUser(name);
  await assert.rejects(operator.user(name), NotFound);
});

test("a key function is called again when its key is refused", async () => {
  const made = [];
  const key = async () => {
    made.push(await alice.createKey("alice", { Name: "page", ExpiresIn: 600 }));
    return made.at(-1).Key;
  };
  const page = new Client(demo.base, { key });
  const two = await Promise.all([page.whoami(), page.whoami()]);
  assert.deepEqual(two.map((caller) => caller.Scopes), ["read", "read"]);
  assert.equal(made.length, 1);
  await alice.revokeKey("alice", made[0].Id);
  // A revocation takes effect within 5 seconds.
  await new Promise((resolve) => setTimeout(resolve, 5000));
  assert.equal((await page.whoami()).Account, "alice");
  assert.equal(made.length, 2);
  const expired = new Client(demo.base, { key: made[0].Key });
  await assert.rejects(expired.whoami(), Unauthorized);
});

test("a signed request reads", async () => {
  const { consumer } = demo.ready;
  const token = await accessToken(consumer);
  const client = new Client(demo.base, oauth1(consumer, token));
  assert.equal((await client.whoami()).Method, "oauth");
  const feed = client.collection("alice", "tofrom", { type: ["photo", "note"], publishedSince: "2009-09-01T00:00:00.000+02:00" });
  assert.ok((await all(feed.activities({ count: 50 }))).length > 50);
  const service = newService();
  const own = client.collection("alice", "from", { service });
  const position = await own.position();
  await alice.putActivity("alice", service, "1", note("Signed"));
  for await (const event of own.follow({ position })) {
    assert.equal(event.activity.Title, "Signed");
    break;
  }
  await client.revokeToken();
  await assert.rejects(client.whoami(), (error) => error instanceof Unauthorized && error.reason === "token-revoked");
});

// The three steps of docs/oauth.md, with a person who signs in and allows.
async function accessToken(consumer) {
  const hash_function = (base, key) => createHmac("sha1", key).update(base).digest("base64");
  const signer = new OAuth({ consumer, signature_method: "HMAC-SHA1", hash_function });
  const step = async (name, data, token) => {
    const url = `${demo.base}/oauth/${name}`;
    const response = await fetch(url, { method: "POST", headers: signer.toHeader(signer.authorize({ method: "POST", url, data }, token)) });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    const given = new URLSearchParams(text);
    return { key: given.get("oauth_token"), secret: given.get("oauth_token_secret") };
  };
  const cookies = new Map();
  const visit = async (url, form) => {
    const headers = { Cookie: [...cookies].map((pair) => pair.join("=")).join("; "), Accept: "text/html" };
    const body = form && new URLSearchParams(form);
    const response = await fetch(url, { headers, redirect: "manual", ...(body && { method: "POST", body }) });
    for (const line of response.headers.getSetCookie()) cookies.set(...line.split(";")[0].split(/=(.*)/s));
    return response.status === 303 ? visit(response.headers.get("Location")) : response.text();
  };
  const hidden = (page) => Object.fromEntries([...page.matchAll(/type="hidden" name="(\w+)" value="([^"]+)"/g)].map(([, name, value]) => [name, value]));
  const temporary = await step("request_token", { oauth_callback: "oob" });
  let page = await visit(`${demo.base}/oauth/authorize?oauth_token=${temporary.key}`);
  page = await visit(`${demo.base}/oauth/authorize`, { ...hidden(page), username: "alice", password: demo.account("alice").password });
  page = await visit(`${demo.base}/oauth/authorize`, { ...hidden(page), decision: "allow" });
  const verifier = /id="verifier"[^>]*>([^<]+)</.exec(page)[1];
  return step("access_token", { oauth_verifier: verifier }, temporary);
}
