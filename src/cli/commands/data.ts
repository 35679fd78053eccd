/**
 * @file `openmanus-rl data list|get`: the data of worlds that have some to download.
 */
import { DATASETS, isSum } from "../../environments/index.ts";
import { optionsAndWords, UsageError } from "../arguments/usage.ts";
import { progressLine } from "../arguments/world.ts";
import type { Command } from "../main.ts";
import { print } from "../support/print.ts";

export const data: Command = {
  help: [
    "Usage: openmanus-rl data list",
    "       openmanus-rl data get NAME [--to FOLDER] [--url URL] [--sha256 HASH] [--accept-changed]",
    "",
    "Downloads a world's official data, verifies it and unpacks it. A download that broke off goes on",
    "where it stopped when the command is run again. The sum (SHA-256) of what came is kept beside the data",
    "(FOLDER.sha256.json): when it is downloaded again, it must be the same.",
    "",
    "  --to FOLDER   where to put it (by default data/NAME; worlds find it there by themselves)",
    "  --url URL     another address of the same archive, such as a mirror",
    "  --sha256 HASH the sum that it must have; FILE=HASH for one of several files, as often as needed",
    "  --accept-changed  takes a file that is not what it was when it was first downloaded",
    "",
    "Example: openmanus-rl data get alfworld --to ~/alfworld",
  ].join("\n"),
  async run(given) {
    const { values, words } = optionsAndWords(given, {
      to: { type: "string" },
      url: { type: "string" },
      sha256: { type: "string", multiple: true },
      "accept-changed": { type: "boolean", default: false },
    });
    const [what, name, ...rest] = words;
    if (what === "list") {
      for (const [name, { summary, folder, url }] of Object.entries(DATASETS))
        print(`${name}  ${summary}\n  to   ${folder}\n  from ${url}`);
      return 0;
    }
    if (what !== "get") throw new UsageError("there are data list and data get NAME.");
    const dataset =
      name !== undefined && Object.hasOwn(DATASETS, name) ? DATASETS[name] : undefined;
    if (!dataset || rest.length > 0)
      throw new UsageError(`get takes one of ${Object.keys(DATASETS).join(", ")}.`);
    const url = values.url ?? dataset.url;
    if (!/^https?:\/\//.test(url))
      throw new UsageError("--url must begin with http:// or https://.");
    const wrong = values.sha256?.find((word) => !isSum(word));
    if (wrong !== undefined)
      throw new UsageError(`--sha256 takes 64 hexadecimal digits, or FILE=DIGITS; got "${wrong}".`);
    const progress = progressLine();
    const started = performance.now();
    const said = await dataset
      .get({
        url,
        folder: values.to ?? dataset.folder,
        sha256: values.sha256,
        acceptChanged: values["accept-changed"],
        onProgress: (doing, done, total) =>
          progress.show(progressText(doing, done, total, started)),
      })
      .finally(() => progress.clear());
    print(said);
    return 0;
  },
};

function progressText(
  doing: string,
  done: number,
  total: number | undefined,
  started: number,
): string {
  const seconds = (performance.now() - started) / 1000;
  if (total === undefined || total === 0) return `${doing}: ${done}`;
  const left = (seconds / Math.max(1, done)) * (total - done);
  const bar = "█".repeat(Math.round((20 * done) / total)).padEnd(20, "·");
  return `${doing} ${bar} ${((100 * done) / total).toFixed(1)} %, ${left.toFixed(0)} s left`;
}
