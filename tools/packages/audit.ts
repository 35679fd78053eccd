/**
 * @file `npm run audit`: asks the registry for known holes in what the package brings along. Fails where there are any that are
 * high or critical. Not every registry answers that question, and not every machine has a network: then one line says that
 * nothing was asked, and why.
 */
import { spawnSync } from "node:child_process";

/** What npm prints: a report, or what the registry answered instead. */
interface Printed {
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string }>>;
  readonly statusCode?: number;
  readonly message?: string;
}

const SERIOUS = ["high", "critical"];

const { stdout, stderr, error } = spawnSync("npm", ["audit", "--omit=dev", "--json"], {
  encoding: "utf8",
});
const printed = parsed(stdout ?? "");
if (printed?.vulnerabilities !== undefined) {
  const all = Object.entries(printed.vulnerabilities);
  const serious = all.filter(([, { severity }]) => SERIOUS.includes(severity));
  for (const [name, { severity }] of serious) console.log(`${name}: ${severity}`);
  console.log(
    serious.length === 0
      ? `no package that comes with this one has a known hole that is high or critical; ${all.length} have lesser ones`
      : "these packages have known holes (npm audit --omit=dev says more); take versions without them",
  );
  process.exitCode = serious.length === 0 ? 0 : 1;
} else if (printed?.message !== undefined) {
  const why =
    printed.statusCode === undefined
      ? "the registry cannot be asked"
      : `the registry offers no audits (${printed.statusCode})`;
  console.log(`skipped: known holes of packages, because ${why}: ${hostless(printed.message)}`);
} else {
  console.log(`npm audit gave no answer that can be read: ${error?.message ?? stderr}`);
  process.exitCode = 1;
}

function parsed(text: string): Printed | undefined {
  try {
    return (JSON.parse(text) as Printed | null) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Which registry a machine asks is its own affair. */
function hostless(text: string): string {
  return text.replace(/\bhttps?:\/\/[^/\s]+/g, "");
}
