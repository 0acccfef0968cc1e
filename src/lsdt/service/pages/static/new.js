"use strict";
// Begin an experiment of a file, which is sent as it is.
const form = document.getElementById("file-form");
const answer = document.getElementById("answer");

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const given = new FormData(form);
  const file = given.get("file");
  const kind = file.name.endsWith(".parquet") ? "application/vnd.apache.parquet" : "text/csv";
  const query = new URLSearchParams({
    name: given.get("name"),
    rewards: given.get("rewards"),
    log: String(given.get("source") === "log"),
  });
  const token = document.querySelector("meta[name=lsdt-token]").content;
  const request = fetch(`/v1/experiments?${query}`, {
    method: "POST",
    headers: { "content-type": kind, "x-lsdt-token": token },
    body: file,
  });
  answer.textContent = "Looking for the arms that can be best …";
  try {
    const made = await request;
    const content = await made.json();
    if (made.ok) location.href = `/experiments/${encodeURIComponent(content.name)}`;
    else answer.textContent = content.detail;
  } catch {
    answer.textContent = "The service cannot be reached.";
  }
});
// Before this the browser would send the form by itself, to nobody.
form?.querySelector("button").removeAttribute("disabled");
