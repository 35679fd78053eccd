/**
 * @file `openmanus-rl ray`: runs on a Ray cluster whose launcher is gone.
 */

import { settingsAndOptions } from "../arguments/settings.ts";
import { UsageError } from "../arguments/usage.ts";
import type { Command } from "../main.ts";
import { rayJobs } from "../ray/api.ts";
import { followJob } from "../ray/launch.ts";
import { interruptible } from "../support/interrupt.ts";
import { print } from "../support/print.ts";

/** Milliseconds between two looks at a job that ends. */
const LOOK = 500;

export const ray: Command = {
  help: [
    "Usage: openmanus-rl ray list|stop|logs [NAME] [--address URL]",
    "",
    "The runs that trainer.launcher=ray has put on a Ray cluster. They go on when the command that started",
    "them is killed.",
    "",
    "  list            their names, and how they are",
    "  stop NAME       the iteration is finished and saved, then all ranks end; returns when they have",
    "  logs NAME       the output of rank 0, until the run ends",
    "  --address URL   Ray's dashboard (RAY_ADDRESS, or http://127.0.0.1:8265)",
    "",
    "Example: openmanus-rl ray stop openmanus-rl-grpo-1f2e3d",
  ].join("\n"),
  async run(given) {
    const { values, words } = settingsAndOptions(given, { address: { type: "string" } });
    const [what, name, ...more] = words;
    if (more.length > 0) throw new UsageError(`ray takes no "${more[0]}".`);
    const jobs = rayJobs(values.address);
    if (what === "list") {
      for (const { submission_id, status, metadata } of await jobs.list())
        if (metadata?.["openmanus-rl"] !== undefined)
          print(`${submission_id.padEnd(40)} ${status.toLowerCase()}`);
      return 0;
    }
    if (what !== "stop" && what !== "logs")
      throw new UsageError(`ray takes list, stop or logs; got "${what ?? ""}".`);
    if (name === undefined) throw new UsageError(`ray ${what} needs the NAME of a run.`);
    if (what === "logs") return interruptible(() => followJob(jobs, name));
    await jobs.stop(name);
    for (;;) {
      const { status } = await jobs.find(name);
      if (status !== "RUNNING" && status !== "PENDING") break;
      await new Promise((resolve) => setTimeout(resolve, LOOK));
    }
    print(
      `${name} has ended; what it saved is in its folder, and the same command goes on from there.`,
    );
    return 0;
  },
};
