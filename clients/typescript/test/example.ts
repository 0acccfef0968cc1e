// A visitor sees one of three jokes, and keeps it; clicks are told later. Run by `make test-js`.
import { Lsdt, LsdtError } from "../lsdt.js";

const lsdt = new Lsdt({ url: process.env["LSDT"] ?? "http://127.0.0.1:8900", key: process.env["LSDT_KEY"] });

try {
  await lsdt.createExperiment({ name: "jokes", arms: ["pun", "riddle", "limerick"], policy: "ucb1" });
} catch (error) {
  if (!(error instanceof LsdtError && error.status === 409)) throw error; // it is there already
}
for (let visitor = 0; visitor < 30; visitor++) {
  const { decisions } = await lsdt.ask("jokes", { unit: `visitor-${visitor}` });
  for (const { id, arm } of decisions) {
    await lsdt.tell("jokes", { decision: id, reward: arm === "riddle" ? 1 : 0 });
  }
}
const best = await lsdt.best("jokes");
console.log(best.arm, best.certainty > 0.5);
