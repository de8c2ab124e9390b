// A reader for scripts/prove-no-hole: follows or polls a collection from a position, and prints what arrives.
//
// Reads a line of JSON from standard input: `base`, `account`, `key`, `collection`, `filters`, `position` and `mode`
// (`follow` or `poll`). Prints a line of JSON for each event or page: the titles, the position, and events other than
// activities. NODE_EXTRA_CA_CERTS names the server's authority.

import { once } from "node:events";
import { createInterface } from "node:readline";
import { Client } from "tofrom";

const [line] = await once(createInterface(process.stdin), "line");
const { base, account, key, collection, filters, position, mode } = JSON.parse(line);
const feed = new Client(base, { key }, { retries: 20 }).collection(account, collection, filters);

const report = (titles, position, unexpected) => process.stdout.write(`${JSON.stringify({ titles, position, unexpected })}\n`);

if (mode === "follow") {
  for await (const event of feed.follow({ position })) {
    if (event.type === "activity") report([event.activity.Title], event.position);
    else report([], event.position, event.type);
  }
} else {
  for await (const page of feed.poll({ position, interval: 300 })) {
    report(page.activities.map((activity) => activity.Title), page.position);
  }
}
