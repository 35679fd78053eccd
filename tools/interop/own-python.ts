/**
 * @file A virtual environment for one check, beside that of the other peers: for packages that are small, or do not
 * get along with theirs. Made once for each list of packages.
 */
import { type ChildProcess, execFileSync, type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The path of its python. */
export function pythonWith(folder: string, packages: readonly string[]): string {
  const python = join(folder, "bin", "python");
  const stamp = join(folder, "installed");
  const wanted = packages.join(" ");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return python;
  const quiet: { stdio: StdioOptions } = { stdio: ["ignore", "ignore", "inherit"] };
  execFileSync("python3", ["-m", "venv", "--clear", folder], quiet);
  const pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "-q"];
  execFileSync(python, [...pip, ...packages], { ...quiet, timeout: 10 * 60 * 1000 });
  writeFileSync(stamp, wanted);
  return python;
}

/** Runs python/SCRIPT with a request in a file and gives what it wrote as its answer. */
export async function askPython<Answer>(
  python: string,
  script: string,
  place: string,
  request: unknown,
): Promise<Answer> {
  const [question, answer] = [join(place, "request.json"), join(place, "answer.json")];
  writeFileSync(question, JSON.stringify(request));
  // Not execFileSync: the server that it asks may be in this process.
  const child = spawn(python, ["-B", scriptFile(script), question, answer], {
    stdio: ["ignore", "inherit", "pipe"],
  });
  let errors = "";
  child.stderr.on("data", (piece: Buffer) => {
    errors += piece.toString();
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), 5 * 60 * 1000);
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(timer);
  if (code !== 0) throw new Error(`${script} failed:\n${errors.slice(-2000)}`);
  return JSON.parse(readFileSync(answer, "utf8")) as Answer;
}

/** Starts python/SCRIPT, which goes on until it is killed; gives the first line that it prints. */
export async function startPython(
  python: string,
  script: string,
  ...words: string[]
): Promise<{ child: ChildProcess; line: string }> {
  const child = spawn(python, ["-B", scriptFile(script), ...words], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const line = await new Promise<string>((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (piece: Buffer) => {
      text += piece.toString();
      if (text.includes("\n")) resolve(text.split("\n", 1)[0]!);
    });
    child.once("exit", (code) => reject(new Error(`${script} ended with ${code}`)));
  });
  return { child, line };
}

function scriptFile(script: string): string {
  return fileURLToPath(new URL(`./python/${script}`, import.meta.url));
}
