// What htmx does not: parts that look again by themselves rest while nobody sees the page, and a
// list that is followed keeps its newest events. Without this file both go on as they would.
"use strict";

document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && !event.detail.requestConfig.triggeringEvent) {
    event.preventDefault();
  }
});

document.addEventListener("htmx:afterSettle", () => {
  const list = document.querySelector("[data-most]");
  const events = list ? [...list.querySelectorAll(":scope > .event")] : [];
  const dropped = list ? events.slice(Number(list.dataset.most)) : [];
  if (dropped.length && !dropped.some((each) => each.contains(document.activeElement))) {
    const note = document.getElementById("dropped");
    const link = note.querySelector("a");
    const address = new URL(link.href);
    address.searchParams.set("before", events[events.length - dropped.length - 1].dataset.position);
    link.href = address.href;
    note.hidden = false;
    dropped.forEach((each) => each.remove());
  }
});
