// Progressive enhancement. Every page works without it.
"use strict";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const list = document.querySelector("main");

// Times in the reader's time zone. The rules are those of the server.
const MINUTE = 60e3, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const words = (date, options) => date.toLocaleDateString("en-GB", options);
const dayKey = (date) => `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, "0")}-${String(date.getDate()).padStart(2, "0")}`;
const dayNumber = (date) => Math.floor((date - date.getTimezoneOffset() * MINUTE) / DAY);
const ordinal = (date) => words(date, {
  day: "numeric", month: "long", ...(date.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" }),
});
const clock = (date) => date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
const weekday = (date) => words(date, { weekday: "long" });

function ago(date) {
  const age = Date.now() - date;
  const days = dayNumber(new Date()) - dayNumber(date);
  const count = (number, unit) => `${number} ${unit}${number === 1 ? "" : "s"} ago`;
  if (Math.abs(age) < MINUTE) return "just now";
  if (age > 0 && age < HOUR) return count(Math.floor(age / MINUTE), "minute");
  if (age > 0 && age < DAY) return count(Math.floor(age / HOUR), "hour");
  if (days === 1) return `yesterday, ${clock(date)}`;
  return days > 1 && days < 7 ? `${weekday(date)}, ${clock(date)}` : ordinal(date);
}

function dayName(date) {
  const days = dayNumber(new Date()) - dayNumber(date);
  if (days === 0 || days === 1) return [days ? "Yesterday" : "Today", `${weekday(date)}, ${ordinal(date)}`];
  return days > 1 && days < 7 ? [weekday(date), ordinal(date)] : [ordinal(date), weekday(date)];
}

function localTimes(root) {
  for (const time of all("time[datetime]", root)) {
    const date = new Date(time.dateTime);
    if (Number.isNaN(date.getTime())) continue;
    const text = time.classList.contains("date") ? ordinal(date) : ago(date);
    if (time.textContent !== text) time.textContent = text;
    time.title = date.toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" });
  }
}

// The heading of a day's section.
function nameDay(section) {
  const [heading, rest] = dayName(new Date(`${section.dataset.day}T12:00`));
  const text = document.createElement("span");
  text.textContent = rest;
  section.querySelector("h2").replaceChildren(`${heading} `, text);
}

// Moves items to the section of their day in the reader's time zone.
function place(items) {
  for (const item of items) {
    const date = new Date(item.dataset.at);
    const key = dayKey(date);
    const sections = all(".day", list);
    let section = sections.find((one) => one.dataset.day === key);
    if (section && item.closest(".day") === section) continue;
    if (!section) {
      section = document.createElement("section");
      section.className = "day";
      section.dataset.day = key;
      section.setAttribute("aria-labelledby", `day-${key}`);
      const heading = document.createElement("h2");
      const card = document.createElement("div");
      heading.id = `day-${key}`;
      card.className = "card";
      section.append(heading, card);
      nameDay(section);
      const last = sections.at(-1);
      const later = item.closest(".day");
      if (later) later[dayKey(date) > later.dataset.day ? "before" : "after"](section);
      else if (last) last.after(section);
      else list.append(section);
    }
    const card = section.querySelector(".card");
    const next = [...card.children].find((one) => one.dataset.at < item.dataset.at);
    card.insertBefore(item, next ?? null);
  }
  for (const section of all(".day", list)) {
    if (section.querySelector("article")) nameDay(section);
    else section.remove();
  }
}

const dated = (root) => all("article[data-at]", root);
if (list) {
  localTimes(document);
  place(all(".day [data-at]", list).filter((item) => dayKey(new Date(item.dataset.at)) !== item.closest(".day").dataset.day));
  setInterval(() => localTimes(list), MINUTE);
}

// Copy buttons: copy the text of the element that data-copy names.
for (const button of all("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    const label = button.firstChild;
    label.data = "Copied";
    setTimeout(() => { label.data = "Copy"; }, 2000);
  });
}

// A chosen language counts for all samples.
const languages = all("[data-language]");
const choose = (language) => languages.forEach((one) => { if (one.dataset.language === language) one.checked = true; });
if (languages.length) {
  choose(localStorage.getItem("language"));
  addEventListener("change", ({ target: { dataset: { language } = {} } }) => {
    if (!language) return;
    localStorage.setItem("language", language);
    choose(language);
  });
}

// Colours names and strings in samples, without changing the page.
if (languages.length && CSS.highlights) {
  const kinds = { key: new Highlight(), text: new Highlight() };
  for (const [name, kind] of Object.entries(kinds)) CSS.highlights.set(name, kind);
  for (const { firstChild: code } of all(".samples pre")) {
    for (const { 0: found, 1: colon, index } of code.data.matchAll(/"(?:[^"\\\n]|\\.)*"(:)?|'[^'\n]*'/g)) {
      const range = new StaticRange({ startContainer: code, startOffset: index, endContainer: code, endOffset: index + found.length - (colon ? 1 : 0) });
      kinds[colon ? "key" : "text"].add(range);
    }
  }
}

// The section that is read is marked in the contents.
const contents = document.querySelector(".contents");
if (contents) {
  const links = new Map(all("a", contents).map((link) => [link.hash.slice(1), link]));
  const reading = new IntersectionObserver((seen) => {
    // The last one is inside of those before it.
    const shown = seen.filter((one) => one.isIntersecting).at(-1);
    if (!shown) return;
    links.forEach((link) => link.removeAttribute("aria-current"));
    const link = links.get(shown.target.getAttribute("aria-labelledby"));
    link.setAttribute("aria-current", "true");
    const { top, bottom } = link.getBoundingClientRect();
    const box = contents.getBoundingClientRect();
    if (top < box.top || bottom > box.bottom) contents.scrollTop += top - box.top - box.height / 2;
  }, { rootMargin: "-20% 0px -75%" });
  all("main [aria-labelledby]").filter((one) => links.has(one.getAttribute("aria-labelledby"))).forEach((one) => reading.observe(one));
  contents.addEventListener("click", ({ target }) => { if (target.closest("a")) contents.firstElementChild.open = false; });
}

// The current tab is in view.
document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// Menus close on Escape and on a click elsewhere.
const menus = "details.account, details.act, details.filter";
const closeMenus = (except) => all(menus).forEach((menu) => { if (menu.open && !menu.contains(except)) menu.open = false; });
addEventListener("click", (event) => closeMenus(event.target));
addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && event.target.closest?.(menus);
  if (menu?.open) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

// The number of unread activities beside the feed. Other devices may have read some.
const badge = document.querySelector("[data-unread]");
const unread = document.querySelector("form.unread");
let asking;
const askUnread = (delay) => {
  clearTimeout(asking);
  asking = badge && setTimeout(async () => {
    const answer = await fetch(badge.dataset.unread).catch(() => null);
    if (!answer?.ok || answer.redirected) return;
    const text = await answer.text();
    badge.hidden = text === "0";
    badge.replaceChildren(text, badge.lastElementChild);
    if (unread && badge.hidden) {
      unread.querySelector("b").textContent = "All read";
      unread.classList.add("done");
    }
  }, delay);
};
if (badge) {
  if (!("known" in badge.dataset)) askUnread(0);
  addEventListener("visibilitychange", () => { if (!document.hidden) askUnread(0); });
}

// Marks the feed as read once all that is unread is shown, and the reader has come to the end of it.
let reading;
const reached = new IntersectionObserver((seen) => {
  clearTimeout(reading);
  if (!seen.at(-1).isIntersecting) return;
  reading = setTimeout(async () => {
    reached.disconnect();
    await fetch(unread.action, { method: "POST", body: new URLSearchParams(new FormData(unread)), redirect: "manual" }).catch(() => null);
    askUnread(0);
  }, 2000);
});
const awaitEnd = () => {
  const items = all(".new", list);
  reached.disconnect();
  if (unread && items.length >= unread.dataset.count) reached.observe(items.at(-1).closest("article"));
};
awaitEnd();

// Announces activities that arrived after the page was rendered. Only following the link loads them.
const news = document.querySelector("[data-live]");
if (news) {
  const link = news.querySelector("a");
  const announce = news.querySelector("[data-announce]");
  const title = document.title;
  const fresh = new Set();
  const update = () => {
    const text = fresh.size === 1 ? "1 new activity" : `${fresh.size} new activities`;
    const more = document.createElement("span");
    more.className = "hidden";
    more.textContent = text.replace(/^.* new/, "");
    link.replaceChildren(`${fresh.size} new`, more);
    link.hidden = fresh.size === 0;
    announce.textContent = fresh.size > 0 ? text : "";
    document.title = fresh.size > 0 ? `(${fresh.size}) ${title}` : title;
  };
  const stream = new EventSource(news.dataset.live);
  stream.addEventListener("activity", (event) => {
    const id = JSON.parse(event.data).ActivityIdentifier;
    if (!document.getElementById(`a-${id}`)) {
      fresh.add(id);
      update();
      askUnread(1000);
    }
  });
  stream.addEventListener("deleted", (event) => {
    const id = JSON.parse(event.data).ActivityIdentifier;
    document.getElementById(`a-${id}`)?.classList.add("gone");
    if (fresh.delete(id)) update();
  });
  stream.addEventListener("seen", () => askUnread(0));
  stream.addEventListener("incomplete", () => {
    link.textContent = "Activities changed: reload";
    link.hidden = false;
  });
  // An open stream keeps the page out of the browser's back/forward cache.
  addEventListener("pagehide", () => stream.close());
}

// Older activities: appended when the link comes near, or at once when it is followed.
const older = document.querySelector(".older");
if (older) {
  let pages = 0;
  let pending = null;
  const load = async () => {
    const link = older.querySelector("a");
    if (!link) return null;
    const answer = await fetch(link.href, { credentials: "same-origin" });
    // A session that has ended redirects to the sign-in page.
    if (!answer.ok || answer.redirected) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const added = dated(page.querySelector("main")).filter(({ id }) => !id || !document.getElementById(id)).map((item) => document.adoptNode(item));
    place(added);
    added.forEach((item) => localTimes(item));
    awaitEnd();
    const next = page.querySelector(".older a");
    if (next) link.href = next.href;
    else older.remove();
    pages += 1;
    history.replaceState({ ...history.state, pages }, "");
    return added[0];
  };
  // One page at a time.
  const once = () => (pending ??= load().finally(() => { pending = null; }));
  const watcher = new IntersectionObserver((seen) => {
    if (seen.some((one) => one.isIntersecting)) {
      // The link stays for another attempt.
      once().then(() => { watcher.unobserve(older); if (older.isConnected) watcher.observe(older); }).catch(() => watcher.disconnect());
    }
  }, { rootMargin: "600px" });
  older.addEventListener("click", (event) => {
    if (event.target.closest("a") && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      const { href } = older.querySelector("a");
      once().then((first) => first && focusOn(first)).catch(() => { location.href = href; });
    }
  });
  // Going back shows the same activities at the same place.
  addEventListener("pagehide", () => history.replaceState({ ...history.state, pages, y: scrollY }, ""));
  const { pages: before, y } = history.state ?? {};
  (async () => {
    const returned = performance.getEntriesByType("navigation")[0]?.type === "back_forward";
    while (returned && pages < before && older.isConnected) await once();
    if (returned && before) scrollTo(0, y);
    watcher.observe(older);
  })().catch(() => {});
}

// Keyboard shortcuts
function focusOn(item) {
  item.tabIndex = -1;
  item.focus({ focusVisible: true, preventScroll: true });
  item.scrollIntoView({ block: "nearest" });
}

const dialog = document.getElementById("shortcuts");
if (dialog) {
  const show = () => { if (!dialog.open) dialog.showModal(); };
  const wanted = dialog.querySelector("[data-keys]");
  wanted.checked = localStorage.getItem("shortcuts") !== "off";
  wanted.addEventListener("change", () => localStorage.setItem("shortcuts", wanted.checked ? "on" : "off"));
  for (const button of all("[data-shortcuts]")) {
    button.hidden = false;
    button.addEventListener("click", show);
  }
  const step = (by) => {
    const items = dated(list);
    const at = items.indexOf(document.activeElement?.closest("article"));
    const to = items[at < 0 ? 0 : Math.min(Math.max(at + by, 0), items.length - 1)];
    if (to) focusOn(to);
  };
  const actions = {
    j: () => step(1),
    k: () => step(-1),
    o: () => document.activeElement?.closest("article")?.querySelector("a.what, .note a, a.at")?.click(),
    "/": () => {
      const box = document.querySelector(".bar .search input");
      if (box?.offsetParent) box.focus();
      else location.href = document.querySelector(".bar .search").action;
    },
    f: () => {
      const filter = document.querySelector("details.filter");
      if (filter) {
        filter.open = true;
        filter.querySelector("input:not([type=hidden])").focus();
      }
    },
    p: () => document.querySelector(".bar .post")?.click(),
    "?": show,
  };
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input:not([type=checkbox]), select, textarea, dialog");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !wanted.checked || !Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });
}
