/**
 * @file Runs a target's worker, and takes note when it dies, hangs, or finds something. A worker that is gone is followed by
 * another until the time is over.
 */
import { type ChildProcess, fork } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Count, type Message, readCurrent, type Work } from "./protocol.ts";

export interface WatchOptions {
  readonly target: string;
  readonly seed: number;
  readonly inputs?: number | undefined;
  readonly seconds?: number | undefined;
  /** Kept from run to run; undefined: begins from the target's seeds alone. */
  readonly corpus?: string | undefined;
  /** Where inputs are written that did something they must not. */
  readonly finds: string;
  readonly replay?: string | undefined;
  /** Whether it ends with the first find. Default: it goes on. */
  readonly isFirstEnough?: boolean | undefined;
  /** Seconds without a new input after which a worker is taken to hang. Default 30. */
  readonly silence?: number | undefined;
}

export interface FoundInput {
  readonly signature: string;
  readonly report: string;
  readonly file: string;
}

export interface TargetResult extends Count {
  readonly target: string;
  readonly seconds: number;
  readonly finds: readonly FoundInput[];
}

const SILENCE = 30;
/** Seconds for a worker to load what it reads with. */
const START = 120;
const WORKER = fileURLToPath(new URL("./worker.ts", import.meta.url));
/** Of JavaScript's memory; what needs more ends the worker, which is a find. */
const MEGABYTES = 1500;

export async function watchTarget(options: WatchOptions): Promise<TargetResult> {
  const { target, inputs = Number.MAX_SAFE_INTEGER, seconds = 3600 } = options;
  const begun = performance.now();
  const passed = () => (performance.now() - begun) / 1000;
  const finds = new Map<string, FoundInput>();
  let total: Count = { inputs: 0, blocks: 0, functions: 0, corpus: 0 };
  for (let life = 0; life < 20; life++) {
    const scratch = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "fuzz-"));
    const work: Work = {
      ...{ target, scratch, corpus: options.corpus, replay: options.replay },
      isFirstEnough: options.isFirstEnough,
      seed: options.seed + life * 7919,
      inputs: inputs - total.inputs,
      seconds: seconds - passed(),
    };
    try {
      const { silence = SILENCE } = options;
      const { count, isDone } = await oneLife(work, silence, (signature, report, bytes) => {
        if (finds.has(signature)) return;
        finds.set(signature, {
          signature,
          report,
          file: writeFind(options, signature, report, bytes),
        });
      });
      total = {
        inputs: total.inputs + count.inputs,
        blocks: Math.max(total.blocks, count.blocks),
        functions: Math.max(total.functions, count.functions),
        corpus: Math.max(total.corpus, count.corpus),
      };
      const isOver =
        passed() >= seconds || total.inputs >= inputs || (options.isFirstEnough && finds.size > 0);
      if (isDone || isOver || options.replay !== undefined) break;
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  }
  return { target, ...total, seconds: passed(), finds: [...finds.values()] };
}

type OnFind = (signature: string, report: string, bytes: Buffer) => void;

function oneLife(
  work: Work,
  silence: number,
  onFind: OnFind,
): Promise<{ count: Count; isDone: boolean }> {
  const child = fork(WORKER, [JSON.stringify(work)], {
    execArgv: ["--import", "tsx", `--max-old-space-size=${MEGABYTES}`],
    stdio: ["ignore", "inherit", "pipe", "ipc"],
  });
  let said = "";
  child.stderr?.on("data", (piece: Buffer) => {
    said = (said + piece.toString()).slice(-4000);
  });
  let count: Count = { inputs: 0, blocks: 0, functions: 0, corpus: 0 };
  let isDone = false;
  child.on("message", (message: Message) => {
    if (message.kind === "count") count = message;
    else if (message.kind === "done") isDone = true;
    else onFind(message.signature, message.report, Buffer.from(message.base64, "base64"));
  });
  const file = join(work.scratch, "current");
  const hang = watchForSilence(child, file, silence);
  return new Promise((resolve, reject) => {
    child.once("exit", (code, signal) => {
      clearInterval(hang.clock);
      const last = readCurrent(file);
      if (!isDone && last)
        onFind(
          hang.isHanging()
            ? "hang"
            : `died ${code ?? signal} ${said.split("\n")[0]?.slice(0, 100)}`,
          hang.isHanging()
            ? `no end after ${silence} s`
            : `code ${code}, signal ${signal}\n${said}`,
          Buffer.from(last.bytes),
        );
      if (!last)
        return reject(
          new Error(
            `the worker of ${work.target} did not begin (code ${code}, signal ${signal}): ${said}`,
          ),
        );
      resolve({
        count: { ...count, inputs: Math.max(count.inputs, isDone ? 0 : last.count) },
        isDone,
      });
    });
  });
}

function watchForSilence(child: ChildProcess, file: string, silence: number) {
  let lastCount = -1;
  let since = performance.now();
  let hanging = false;
  const clock = setInterval(() => {
    const now = readCurrent(file)?.count ?? -1;
    if (now !== lastCount) {
      lastCount = now;
      since = performance.now();
    } else if (performance.now() - since > (now < 0 ? START : silence) * 1000) {
      hanging = true;
      child.kill("SIGKILL");
    }
  }, 250);
  return { clock, isHanging: () => hanging };
}

function writeFind(
  { finds, target, replay }: WatchOptions,
  signature: string,
  report: string,
  bytes: Buffer,
): string {
  if (replay !== undefined) return replay;
  mkdirSync(finds, { recursive: true });
  const hash = createHash("sha256").update(signature).digest("hex").slice(0, 12);
  const file = join(finds, `${target}--${hash}`);
  writeFileSync(file, bytes);
  writeFileSync(`${file}.txt`, `${signature}\n\n${report}\n`);
  return file;
}
