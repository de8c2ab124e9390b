// Fedify, an independent implementation of ActivityStreams 2.0, reads every page of a collection and finds what the JSON
// pages have.
//
// Reads its parameters as JSON from standard input, prints the number of activities.

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { pathToFileURL } = require("node:url");

async function pages(address, accept, key, read) {
  const found = [];
  for (let next = address; next; ) {
    const answer = await fetch(next, { headers: { ServicePSK: key, Accept: accept } });
    assert.equal(answer.status, 200, next);
    assert.equal(answer.headers.get("content-type"), accept);
    const { items, next: following } = await read(answer);
    found.push(...items);
    next = following;
  }
  return found;
}

async function ofJson(answer) {
  const items = (await answer.json()).Activities.Activity.map((activity) => {
    const { SourceUser, SourceService, ...rest } = activity;
    const object = Object.values(rest).findLast((value) => typeof value === "object") ?? {};
    const url = object.Url && new URL(object.Url).href;
    return [activity.ActivityUrl, activity.Title, SourceUser.UserIdentifier, SourceService.Name, object.Title, url];
  });
  return { items, next: /<([^>]*)>; rel="next"/.exec(answer.headers.get("link"))?.[1] };
}

async function ofActivityStreams({ OrderedCollectionPage, Person }, answer) {
  const page = await OrderedCollectionPage.fromJsonLd(await answer.json());
  assert.equal(page.id.href, answer.url);
  const items = [];
  for await (const activity of page.getItems()) {
    const [actor, object] = [await activity.getActor(), await activity.getObject()];
    const { value: generator } = await activity.getGenerators()[Symbol.asyncIterator]().next();
    assert.ok(actor instanceof Person);
    assert.ok(activity.published);
    items.push([activity.id.href, `${activity.name}`, `${actor.preferredUsername}`, `${generator.name}`, object.name?.toString(), object.url?.href]);
  }
  return { items, next: page.nextId?.href };
}

async function main() {
  const { base, account, key } = JSON.parse(fs.readFileSync(0, "utf8"));
  // The package has no CommonJS modules, and NODE_PATH is only for these.
  const vocabulary = await import(pathToFileURL(path.join(process.env.NODE_PATH, "@fedify/fedify/esm/vocab/mod.js")));
  const address = `${base}/200909/activity/${account}/tofrom?count=100`;
  const expected = await pages(address, "application/json", key, ofJson);
  const found = await pages(address, "application/activity+json", key, (answer) => ofActivityStreams(vocabulary, answer));
  assert.deepEqual(found, expected);
  console.log(`${found.length} activities`);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
