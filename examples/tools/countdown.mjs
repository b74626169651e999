// Progress, a result with a title, an error, and the two steps of a tool's life, in Node.js.
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";

const write = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

async function call() {
  const { from } = JSON.parse(await text(process.stdin)).arguments;
  if (from > 50) return write({ type: "error", message: "50 is the most this tool counts down from" });
  for (let left = from; left > 0; left -= 1) {
    write({ type: "progress", text: `${left}\n` });
    await setTimeout(20);
  }
  write({ type: "result", text: "Lift-off.", data: { steps: from }, title: `Counted ${from} steps` });
}

const step = process.argv[2];
if (step === "call") await call();
// `init` would open a database or look for a key, `destroy` would tidy up; exit with another code than 0 to fail.
