// Ask, play, tell, from JavaScript: node client.mjs, or the same in a browser.
const service = process.env.LSDT ?? "http://127.0.0.1:8900";
const key = process.env.LSDT_KEY ?? "";

async function call(path, body, headers = {}) {
  const answer = await fetch(`${service}/v1/experiments${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}`, ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const content = await answer.json();
  if (!answer.ok) throw new Error(`${content.title}: ${content.detail}`);
  return content;
}

await call("", { name: "jokes", arms: ["pun", "riddle", "limerick"], policy: "ucb1" });
for (let visit = 0; visit < 20; visit++) {
  // A key for every visit: after a lost connection, the same call again gives the same decision.
  const { decisions: [decision] } = await call("/jokes/ask", {}, { "idempotency-key": crypto.randomUUID() });
  await call("/jokes/tell", { decision: decision.id, reward: decision.arm === "riddle" ? 1 : 0 });
}
const best = await call("/jokes/best");
console.log(best.arm);
