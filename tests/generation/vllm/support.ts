/**
 * @file The stand-in for vLLM as a program, with a folder for its faults and a log of what it did.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { VllmOptions } from "../../../src/generation/index.ts";

const PROGRAM = fileURLToPath(new URL("./stand-in.ts", import.meta.url));
const TYPESCRIPT = import.meta.resolve("tsx");

export interface StandIn {
  /** To be taken for `vllm`. */
  readonly executable: string;
  /** Sets and removes a fault. */
  fault(name: string, is?: boolean): void;
  /** Lines of what all its processes did: "PID started FOLDER". */
  log(): string[];
}

export function standIn(parent: string, name = "stand-in"): StandIn {
  const folder = join(parent, name);
  const [faults, log, executable] = ["faults", "log", "vllm"].map((part) => join(folder, part));
  mkdirSync(faults!, { recursive: true });
  const words = [process.execPath, "--import", TYPESCRIPT, PROGRAM].map((word) => `'${word}'`);
  writeFileSync(
    executable!,
    `#!/bin/sh\nexport STAND_IN_LOG='${log}' STAND_IN_FAULTS='${faults}'\nexec ${words.join(" ")} "$@"\n`,
    { mode: 0o755 },
  );
  return {
    executable: executable!,
    fault(fault, is = true) {
      if (is) writeFileSync(join(faults!, fault), "");
      else rmSync(join(faults!, fault), { force: true });
    },
    log: () => (existsSync(log!) ? readFileSync(log!, "utf8").trimEnd().split("\n") : []),
  };
}

export function vllmOptions(executable: string, own: Partial<VllmOptions> = {}): VllmOptions {
  return {
    executable,
    urls: [],
    replicas: 1,
    tensorParallel: 1,
    memoryShare: 0.5,
    cacheBytes: 2 ** 26,
    maximumSequences: 16,
    tokensPerStep: 512,
    contextLength: 2048,
    cutsPrompts: false,
    dtype: "float32",
    eager: true,
    threads: 1,
    weights: "files",
    words: [],
    startSeconds: 120,
    answerSeconds: 120,
    ...own,
  };
}
