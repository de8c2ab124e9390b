// Reads a feed in the browser, and follows it live.

import { Client } from "./tofrom/index.js";

const list = document.getElementById("feed");
const state = document.getElementById("state");

async function feedKey() {
  const response = await fetch("feed-key", { method: "POST" });
  if (!response.ok) throw new Error("Sign in again");
  return response.json();
}

// The item of an activity, new or changed. Text only: nothing in an activity becomes markup.
function show(activity, place) {
  const item = document.getElementById(activity.ActivityIdentifier) ?? document.createElement("li");
  item.id = activity.ActivityIdentifier;
  item.textContent = activity.Title;
  if (!item.isConnected) list[place](item);
}

try {
  const { base, user, key } = await feedKey();
  // Called again when the server no longer accepts the key.
  let first = key;
  const fresh = async () => {
    const now = first ?? (await feedKey()).key;
    first = undefined;
    return now;
  };
  const feed = new Client(base, { key: fresh }).collection(user);

  for (;;) {
    list.replaceChildren();
    const page = await feed.page({ count: 30 });
    for (const activity of page.activities) show(activity, "append");
    state.textContent = "Live";
    for await (const event of feed.follow({ position: page.position })) {
      if (event.type === "activity") show(event.activity, "prepend");
      if (event.type === "deleted") document.getElementById(event.identifier)?.remove();
      // Too much changed: read the page again.
      if (event.type === "incomplete") break;
    }
  }
} catch (error) {
  state.textContent = error.message;
}
