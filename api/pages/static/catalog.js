// What htmx does not: parts that look again by themselves rest while nobody sees the page, say
// when the session has ended, and a list that is followed keeps its newest events.
"use strict";

document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && !event.detail.requestConfig.triggeringEvent) {
    event.preventDefault();
  }
});

// Who is not signed in any more is led to where one signs in, and back from there.
document.addEventListener("htmx:responseError", (event) => {
  if (event.detail.xhr.status === 401) {
    location.reload();
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
