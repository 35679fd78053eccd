/**
 * @file `openmanus-rl diagnose`: what is wrong with a run, and what to change.
 */
import { diagnose, diagnosisText } from "../../library/index.ts";
import { optionsAndWords, UsageError } from "../arguments/usage.ts";
import type { Command } from "../main.ts";
import { print } from "../support/print.ts";

export const diagnoseCommand: Command = {
  help: [
    "Usage: openmanus-rl diagnose RUN [--json]",
    "",
    "Reads a run's folder, running, ended or killed, and says what is wrong with it: the likeliest first,",
    "each with its numbers, an episode that shows it, and the settings to change. It says so, too, when",
    "nothing is. docs/monitoring.md lists the alarms.",
    "",
    "  --json    JSON on standard output",
    "",
    "The exit code is 1 where a serious alarm is raised, else 0.",
    "",
    "Example: openmanus-rl diagnose runs/openmanus-rl/run",
  ].join("\n"),
  run(given) {
    const { values, words } = optionsAndWords(given, {
      json: { type: "boolean", default: false },
    });
    const [folder, ...more] = words;
    if (folder === undefined) throw new UsageError("diagnose takes a run's folder.");
    if (more.length > 0) throw new UsageError(`diagnose takes one folder, and no "${more[0]}".`);
    const found = diagnose(folder);
    print(values.json ? JSON.stringify(found, null, 2) : diagnosisText(found));
    const isSerious = found.findings.some(
      ({ grade, until }) => grade !== "notice" && until === undefined,
    );
    return isSerious ? 1 : 0;
  },
};
