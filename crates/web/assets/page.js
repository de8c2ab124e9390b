// Progressive enhancement. Every page works without it.
"use strict";

// Copy buttons: copy the text of the element that data-copy names.
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    const before = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = before; }, 2000);
  });
}

// Shows the number of activities that arrived after the page was rendered. Only following the link loads them.
const news = document.querySelector("[data-live]");
if (news) {
  const link = news.querySelector("a");
  const announce = news.querySelector("[data-announce]");
  const fresh = new Set();
  const update = () => {
    const text = fresh.size === 0 ? link.dataset.quiet : fresh.size === 1 ? "Show 1 new activity" : `Show ${fresh.size} new activities`;
    link.textContent = text;
    news.classList.toggle("some", fresh.size > 0);
    announce.textContent = fresh.size > 0 ? text : "";
  };
  const stream = new EventSource(news.dataset.live);
  stream.addEventListener("activity", (event) => {
    const id = JSON.parse(event.data).ActivityIdentifier;
    if (!document.getElementById(`a-${id}`)) {
      fresh.add(id);
      update();
    }
  });
  stream.addEventListener("deleted", (event) => {
    const id = JSON.parse(event.data).ActivityIdentifier;
    document.getElementById(`a-${id}`)?.classList.add("gone");
    if (fresh.delete(id)) {
      update();
    }
  });
  stream.addEventListener("incomplete", () => {
    link.textContent = "Activities changed: reload";
    news.classList.add("some");
  });
  // An open stream keeps the page out of the browser's back/forward cache.
  addEventListener("pagehide", () => stream.close());
}
