/**
 * @file `npm run golden -- <name> <file>`: compares what we compute with numbers that a reference
 * implementation gave, and says of every case of the file whether it passed. Exit code 0: all did; 1:
 * some did not; 2: the command or the file cannot be used.
 */
import { readFileSync } from "node:fs";

/** One case's outcome. */
export interface CaseResult {
  name: string;
  /** What disagreed; empty when the case passed. */
  problems: string[];
  /** Said beside a passed case, for instance that the file marks it as a bug of the reference. */
  remark?: string;
}

/**
 * Checks a parsed file, with what further arguments the checker has. Throws an error that says what is
 * wrong when the file is not of its format.
 */
export type GoldenChecker = (
  file: unknown,
  ...further: readonly string[]
) => CaseResult[] | Promise<CaseResult[]>;

interface Entry {
  /** A checker of a folder gets its path instead of a parsed file. */
  readonly takes?: "folder";
  /** What comes after the file on the command line. */
  readonly further: readonly string[];
  load(): Promise<GoldenChecker>;
}

const CHECKERS: Record<string, Entry> = {
  algorithms: {
    further: [],
    load: async () => (await import("./algorithms.ts")).checkAlgorithms,
  },
  alfworld: {
    further: ["<games>"],
    load: async () => (await import("./alfworld.ts")).checkAlfworld,
  },
  webshop: {
    further: ["<transcripts>"],
    load: async () => (await import("./webshop.ts")).checkWebshop,
  },
  models: {
    takes: "folder",
    further: [],
    load: async () => (await import("./models.ts")).checkModels,
  },
};

async function main(words: readonly string[]): Promise<number> {
  const [name, path, ...rest] = words;
  const entry = name !== undefined && Object.hasOwn(CHECKERS, name) ? CHECKERS[name] : undefined;
  if (!entry || path === undefined || rest.length !== entry.further.length) {
    const forms = Object.entries(CHECKERS).map(([name, { takes = "file", further }]) =>
      ["  npm run golden --", name, `<${takes}>`, ...further].join(" "),
    );
    console.error(
      `Usage:\n${forms.join("\n")}\n` +
        "Example: npm run golden -- algorithms ../shared/golden/algorithms.json",
    );
    return 2;
  }
  let results: CaseResult[];
  try {
    const checker = await entry.load();
    const input = entry.takes === "folder" ? path : JSON.parse(readFileSync(path, "utf8"));
    results = await checker(input, ...rest);
  } catch (error) {
    console.error(`${path}: ${error instanceof Error ? error.message : String(error)}`);
    return 2;
  }
  for (const [number, { name, problems, remark }] of results.entries()) {
    const title = `${String(number + 1).padStart(3)} ${name}`;
    console.log(
      `${problems.length === 0 ? "passed" : "FAILED"} ${title}${remark ? ` (${remark})` : ""}`,
    );
    for (const problem of problems) console.log(`           ${problem}`);
  }
  const failed = results.filter(({ problems }) => problems.length > 0).length;
  console.log(`${results.length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
