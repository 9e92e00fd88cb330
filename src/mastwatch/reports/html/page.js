// Comfort only: without it the links are plain anchors and all text can be read.
"use strict";

const quotes = [...document.querySelectorAll("a.quote")];

/** Open whatever hides an element. */
function uncover(element) {
  for (let box = element.closest("details"); box; box = box.parentElement.closest("details")) {
    box.open = true;
  }
}

/** Show the place a link names: all pieces of a quote, and the message around it. */
function show() {
  const name = location.hash.slice(1);
  const target = name && document.getElementById(name);
  for (const old of document.querySelectorAll(".lit, .here, .chosen")) {
    old.classList.remove("lit", "here", "chosen");
  }
  if (!target) return;
  uncover(target);
  for (const piece of document.querySelectorAll("mark[data-quotes]")) {
    if (piece.dataset.quotes.split(" ").includes(name)) piece.classList.add("lit");
  }
  const row = target.closest("li.row");
  if (row) row.classList.add("here");
  for (const quote of quotes) {
    if (quote.hash === location.hash) quote.classList.add("chosen");
  }
  target.setAttribute("tabindex", "-1");
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: target === row ? "start" : "center" });
}

/** Go to the quote after or before the one that is shown. */
function step(by) {
  if (!quotes.length) return;
  const at = quotes.findIndex((quote) => quote.hash === location.hash);
  const next = at < 0 ? (by > 0 ? 0 : quotes.length - 1) : (at + by + quotes.length) % quotes.length;
  location.hash = quotes[next].hash;
}

addEventListener("hashchange", show);
document.addEventListener("click", (event) => {
  // The same link again: the address does not change, so nothing would happen.
  const link = event.target.closest("a[href^='#']");
  if (link && (link.hash || link.getAttribute("href")) === location.hash) show();
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "n") step(1);
  if (event.key === "p") step(-1);
});
addEventListener("beforeprint", () => {
  for (const box of document.querySelectorAll("details")) box.open = true;
});
document.querySelector("footer").hidden = false;
if (location.hash) show();
