"use strict";
// Begin an experiment: an example, or a file that is sent as it is.
const form = document.getElementById("new");
const answer = document.getElementById("answer");

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const given = new FormData(form);
  const source = given.get("source");
  const common = { name: given.get("name"), policy: given.get("policy"), rewards: given.get("rewards") };
  let request;
  if (source === "example") {
    request = fetch("/v1/experiments", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...common, example: true }),
    });
  } else {
    const file = given.get("file");
    if (!file || !file.size) {
      answer.textContent = "Choose a file.";
      return;
    }
    const kind = file.name.endsWith(".parquet") ? "application/vnd.apache.parquet" : "text/csv";
    const query = new URLSearchParams({ ...common, log: String(source === "log") });
    request = fetch(`/v1/experiments?${query}`, { method: "POST", headers: { "content-type": kind }, body: file });
  }
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
