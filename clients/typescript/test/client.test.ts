// The client against a running service, whose address is in LSDT, and against a service that fails.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";

import {
  ConnectionFailed,
  InvalidInput,
  LostDecision,
  Lsdt,
  LsdtError,
  NotFound,
  Paused,
  StoreFailed,
  type About,
  type DecisionList,
} from "../lsdt.js";

const url = process.env["LSDT"] ?? "http://127.0.0.1:8900";
const lsdt = new Lsdt({ url });
const DRINKS = { name: "drinks", arms: ["tea", "coffee", "juice"], policy: "ucb1", epsilon: 0.1 };

before(() => lsdt.createExperiment({ ...DRINKS, similar: [["tea", "coffee"]], floor: { juice: 0.1 } }));
after(() => lsdt.deleteExperiment("drinks"));

function first(list: DecisionList) {
  const [decision] = list.decisions;
  assert(decision);
  return decision;
}

test("ask, tell, and what was learned", async () => {
  for (let round = 0; round < 40; round++) {
    const decision = first(await lsdt.ask("drinks", { propensity: true }));
    assert.equal(typeof decision.propensity, "number");
    const told = await lsdt.tell("drinks", { decision: decision.id, reward: decision.arm === "tea" ? 1 : 0 });
    assert.deepEqual(told, { learned: 1, repeated: 0 });
  }
  assert.equal((await lsdt.ask("drinks", { n: 3, distinct: true })).decisions.length, 3);
  assert.deepEqual(await lsdt.observe("drinks", { rewards: [{ arm: "tea", reward: 1 }] }), { learned: 1 });
  const best = await lsdt.best("drinks", { n_runners_up: 1 });
  assert.equal(best.arm, "tea");
  assert.equal(best.runners_up.length, 1);
  const page = await lsdt.listArms("drinks", { order: "-plays", limit: 2 });
  assert.equal(page.total, 3);
  assert.equal(page.arms[0]?.arm, "tea");
  assert.equal((await lsdt.why("drinks", "tea")).candidate, true);
  assert.equal((await lsdt.stopping("drinks", { delta: 0.1, tolerance: 0.2 })).tolerance, 0.2);
  assert.equal((await lsdt.lift("drinks")).control.arm, "juice");
  assert(Array.isArray((await lsdt.suspects("drinks", { risk: 0.1 })).suspects));
  assert.deepEqual((await lsdt.drift("drinks")).arms, []);
  assert((await lsdt.listExperiments()).experiments.some((each) => each.name === "drinks"));
  assert.match(await lsdt.metrics(), /lsdt_arm_plays\{experiment="drinks",arm="tea"\}/);
  assert.equal((await lsdt.healthz()).status, "ok");
  assert.equal((await lsdt.readyz()).status, "ok");
  assert.deepEqual((await lsdt.listKeys()).keys, []);
  assert.deepEqual((await lsdt.listWebhooks()).webhooks, []);
});

test("units keep their arm, and are forgotten", async () => {
  const one = first(await lsdt.ask("drinks", { unit: "user-17" }));
  const two = first(await lsdt.ask("drinks", { unit: "user-17" }));
  assert.equal(one.arm, two.arm);
  assert.deepEqual(await lsdt.eraseUnit("drinks", { unit: "user-17" }), { erased: true });
  assert.equal((await lsdt.cancel("drinks", { decisions: [one.id] })).cancelled, 1);
});

test("the best several, and corrected rewards", async () => {
  await lsdt.createExperiment({ ...DRINKS, name: "corrected", replace_within: "1 hour" });
  const several = await lsdt.best("corrected", { top: 2 });
  assert.equal(1 + several.runners_up.length, 2);
  const verdict = await lsdt.stopping("corrected", { tolerance: 0.1, top: 2 });
  assert.deepEqual([verdict.top, verdict.arms.length, verdict.arm], [2, 2, verdict.arms[0]]);
  for (const arm of DRINKS.arms) {
    const decisions = (await lsdt.ask("corrected", { n: 2, allowed: [arm] })).decisions;
    const told = { decision: decisions[0]!.id, reward: 1 };
    assert.deepEqual(await lsdt.tell("corrected", told), { learned: 1, repeated: 0 });
    assert.deepEqual(await lsdt.tell("corrected", { ...told, reward: 0 }), { learned: 0, repeated: 1 });
    const corrected = await lsdt.tell("corrected", { ...told, reward: 0, repeat: "replace" });
    assert.deepEqual(corrected, { learned: 1, repeated: 0 });
  }
  const all = await lsdt.stopping("corrected", { tolerance: 0.1, top: "all" });
  assert.equal(all.arm, all.arms[0] ?? null);
  await lsdt.deleteExperiment("corrected");
});

test("the log, the stream and snapshots", async () => {
  const events = await lsdt.listEvents("drinks", { after: 0, limit: 1000 });
  assert(events.some((each) => each.event === "ask" && typeof each.decision === "number"));
  assert((await lsdt.listEvents("drinks", { limit: 2 })).length === 2);
  const parquet = await lsdt.listEventsFile("drinks");
  assert.equal(new TextDecoder().decode(parquet.slice(0, 4)), "PAR1");
  const signal = AbortSignal.timeout(20_000);
  let about: About | undefined;
  for await (const each of lsdt.stream("drinks", { signal })) {
    if (each.event === "state") {
      about = each.data;
      break;
    }
  }
  assert.equal(about?.name, "drinks");
  const blob = await lsdt.snapshotFile("drinks");
  assert.equal((await lsdt.snapshot("drinks")).bytes > 0, true);
  await lsdt.createExperiment({ ...DRINKS, name: "south" });
  assert((await lsdt.mergeFile("south", { type: "application/octet-stream", data: blob })).learned > 0);
  await lsdt.deleteExperiment("south");
});

test("files", async () => {
  const file = { type: "text/csv", data: "a,b,relation\ntea,coffee,similar\n" } as const;
  const options = { policy: "ucb1", epsilon: 0.1, floor: { tea: 0.1 }, expiry: { after: 60, reward: 0 } };
  const made = await lsdt.createExperimentFile(file, { name: "of a file", ...options });
  assert.deepEqual([made.name, made.policy.startsWith("ucb1")], ["of a file", true]);
  const more = { type: "text/csv", data: "a,b,relation\ntea,coffee,similar\ncoffee,milk,similar\n" } as const;
  assert.deepEqual((await lsdt.extendFile("of a file", more)).new_arms, ["milk"]);
  assert.deepEqual((await lsdt.getExperiment("of a file")).expiry, { after: 60, reward: 0 });
  await lsdt.deleteExperiment("of a file");
});

test("names are escaped, and pauses and stops are known", async () => {
  const name = "half & half";
  await lsdt.createExperiment({ ...DRINKS, name });
  await lsdt.pause(name, { reason: "wrong prices" });
  await assert.rejects(lsdt.ask(name), (error) => error instanceof Paused && error.status === 409);
  assert.equal((await lsdt.getExperiment(name)).status, "paused");
  await lsdt.resume(name);
  await lsdt.stop(name, { arm: "tea" });
  assert.equal(first(await lsdt.ask(name)).arm, "tea");
  await lsdt.resume(name);
  await lsdt.setTolerance(name, { tolerance: 0.02 });
  await lsdt.retire(name, { arm: "juice" });
  await lsdt.reinstate(name, { arm: "juice" });
  assert.deepEqual((await lsdt.extend(name, { arms: ["milk"] })).new_arms, ["milk"]);
  await lsdt.deleteExperiment(name);
});

test("errors are exceptions with the problem details", async () => {
  await assert.rejects(lsdt.best("nothing"), (error) => {
    assert(error instanceof NotFound);
    assert.equal(error.problem?.title, "NotFound");
    assert.match(error.message, /there is no experiment 'nothing'/);
    return error.status === 404 && error.name === "NotFound";
  });
  await assert.rejects(lsdt.ask("drinks", { n: 0 }), InvalidInput);
  await assert.rejects(lsdt.tell("drinks", { decision: "x", reward: 1 }), InvalidInput);
});

/** Run a service that answers with these in turn: a status with a body, or null for a broken connection. */
async function failing(
  answers: ([number, unknown, Record<string, string>?] | null | "hang")[],
  run: (lsdt: Lsdt, seen: { headers: Record<string, string>; path: string }[]) => Promise<void>,
): Promise<void> {
  const seen: { headers: Record<string, string>; path: string }[] = [];
  const server = createServer((request, response) => {
    seen.push({ headers: request.headers as Record<string, string>, path: request.url ?? "" });
    const answer = answers[Math.min(seen.length, answers.length) - 1];
    if (answer === "hang") return;
    if (answer === null || answer === undefined) {
      request.socket.destroy();
      return;
    }
    response.writeHead(answer[0], { "content-type": "application/json", ...answer[2] });
    response.end(JSON.stringify(answer[1]));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  try {
    await run(new Lsdt({ url: `http://127.0.0.1:${port}/`, key: "KEY", timeout: 5_000 }), seen);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const DECIDED = { decisions: [{ id: "D", arm: "tea" }] };
const BUSY = { type: "about:blank", title: "Unavailable", status: 503, detail: "come again" };

test("a lost answer is asked for again with the same key", () =>
  failing([null, [503, BUSY], [200, DECIDED]], async (client, seen) => {
    assert.equal(first(await client.ask("drinks")).id, "D");
    assert.equal(seen.length, 3);
    assert.equal(new Set(seen.map((each) => each.headers["idempotency-key"])).size, 1);
    assert.equal(seen[0]?.headers["authorization"], "Bearer KEY");
    await client.ask("drinks", {}, { idempotencyKey: "mine" });
    assert.equal(seen[3]?.headers["idempotency-key"], "mine");
    assert.notEqual(seen[0]?.headers["idempotency-key"], "mine");
  }));

test("two asks have two keys", () =>
  failing([[200, DECIDED]], async (client, seen) => {
    await client.ask("a/b?");
    await client.ask("a/b?");
    assert.equal(new Set(seen.map((each) => each.headers["idempotency-key"])).size, 2);
    assert.equal(seen[0]?.path, "/v1/experiments/a%2Fb%3F/ask");
  }));

test("what may not happen twice is not repeated when its answer is lost", () =>
  failing([null], async (client, seen) => {
    await assert.rejects(client.cancel("drinks", { decision: "D" }), ConnectionFailed);
    await assert.rejects(client.addKey({ role: "read" }), ConnectionFailed);
    assert.equal(seen.length, 2);
    await assert.rejects(client.best("drinks", {}, { retries: 2 }), ConnectionFailed);
    assert.equal(seen.length, 5);
  }));

test("a service that stays busy is given up, and one that asks for time gets it", async () => {
  await failing([[503, BUSY]], async (client, seen) => {
    await assert.rejects(client.best("drinks", {}, { retries: 1 }), (error) => {
      assert(error instanceof LsdtError);
      return error.status === 503 && error.message === "come again";
    });
    assert.equal(seen.length, 2);
    await assert.rejects(client.ask("drinks", {}, { retries: 0 }), LsdtError);
  });
  await failing([[429, BUSY, { "retry-after": "1" }], [200, DECIDED]], async (client) => {
    const began = performance.now();
    await client.ask("drinks");
    assert(performance.now() - began >= 490); // half of it at least, as the other half is random
  });
});

test("readiness is an answer, also when it says no", () =>
  failing([[503, { status: "failed", detail: "the store failed" }]], async (client, seen) => {
    assert.equal((await client.readyz()).status, "failed");
    assert.equal(seen.length, 1);
  }));

test("errors of the service have their own classes", async () => {
  const lost = { type: "about:blank", title: "LostDecision", status: 410, detail: "lost", decisions: ["D"] };
  await failing([[410, lost], [500, { ...BUSY, title: "StoreFailed" }], [500, "<html>"]], async (client) => {
    await assert.rejects(client.tell("drinks", { decision: "D", reward: 1 }), (error) => {
      assert(error instanceof LostDecision && error instanceof InvalidInput);
      assert.deepEqual(error.decisions, ["D"]);
      return true;
    });
    await assert.rejects(client.best("drinks"), StoreFailed);
    await assert.rejects(client.best("drinks"), /the service answered 500/);
  });
});

test("a service that hangs is given up in time, and a signal ends a call at once", () =>
  failing(["hang"], async (client, seen) => {
    await assert.rejects(client.best("drinks", {}, { timeout: 50, retries: 1 }), (error) => {
      assert(error instanceof ConnectionFailed);
      assert.match(error.message, /no answer within 50 ms/);
      return error.status === 0;
    });
    assert.equal(seen.length, 2);
    const stop = new AbortController();
    const call = client.best("drinks", {}, { signal: stop.signal });
    setTimeout(() => stop.abort(new Error("the visitor left")), 20);
    await assert.rejects(call, /the visitor left/);
    await assert.rejects(client.best("drinks", {}, { signal: stop.signal }), /the visitor left/);
    assert.equal(seen.length, 3);
  }));

test("a signal ends the wait between two attempts", () =>
  failing([[503, BUSY, { "retry-after": "5" }]], async (client) => {
    await assert.rejects(client.best("drinks", {}, { signal: AbortSignal.timeout(100) }), { name: "TimeoutError" });
  }));

test("a service that is not there", async () => {
  const nowhere = new Lsdt({ url: "http://127.0.0.1:59999", retries: 1 });
  await assert.rejects(nowhere.cancel("drinks", { decision: "D" }), (error) => {
    assert(error instanceof ConnectionFailed);
    return error.message === "the service at http://127.0.0.1:59999 cannot be reached: ECONNREFUSED";
  });
  assert.throws(() => new Lsdt({ url: "127.0.0.1:8900" }), InvalidInput);
});

test("the example", () => {
  const example = fileURLToPath(new URL("example.js", import.meta.url));
  const printed = execFileSync(process.execPath, [example], { env: { ...process.env, LSDT: url }, encoding: "utf8" });
  assert.equal(printed, "riddle true\n");
});
