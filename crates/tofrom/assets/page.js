// Makes pages nicer. Every page works without it.
"use strict";

// Copies what stands in the element that a button names.
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    const before = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = before; }, 2000);
  });
}

// Tells how many came in since the page was made. They are brought in by following the link, never by themselves.
const news = document.querySelector("[data-live]");
if (news) {
  const link = news.querySelector("a");
  const announce = news.querySelector("[data-announce]");
  const fresh = new Set();
  const tell = () => {
    const text = fresh.size === 0 ? link.dataset.quiet : fresh.size === 1 ? "1 new: show it" : `${fresh.size} new: show them`;
    link.textContent = text;
    news.classList.toggle("some", fresh.size > 0);
    announce.textContent = fresh.size > 0 ? text : "";
  };
  const stream = new EventSource(news.dataset.live);
  stream.addEventListener("activity", (event) => {
    const id = JSON.parse(event.data).ActivityIdentifier;
    if (!document.getElementById(`a-${id}`)) {
      fresh.add(id);
      tell();
    }
  });
  stream.addEventListener("deleted", (event) => {
    const id = JSON.parse(event.data).ActivityIdentifier;
    document.getElementById(`a-${id}`)?.classList.add("gone");
    if (fresh.delete(id)) {
      tell();
    }
  });
  stream.addEventListener("incomplete", () => {
    link.textContent = "Something changed: load anew";
    news.classList.add("some");
  });
  // A stream that stays open holds the page's connection; the browser's cache of pages can't keep it.
  addEventListener("pagehide", () => stream.close());
}
