/**
 * @file `npm run sanitize [TEST …]`: builds the addon with AddressSanitizer and UndefinedBehaviorSanitizer beside the usual one,
 * and runs the tests that are mostly native with it. Leaks are not looked for: Node and libtorch keep what they have until
 * the end. Once per release.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Reading files, kernels, shapes and indices from outside, several processes. */
const TESTS = [
  "tests/torch/fuzz.test.ts",
  "tests/torch/door.test.ts",
  "tests/torch/door-errors.test.ts",
  "tests/torch/mapfile.test.ts",
  "tests/torch/reading.test.ts",
  "tests/torch/indexing.test.ts",
  "tests/torch/shape.test.ts",
  "tests/torch/autograd.test.ts",
  "tests/torch/checkpoint.test.ts",
  "tests/torch/fused-attention.test.ts",
  "tests/torch/fused-adamw.test.ts",
  "tests/torch/fused-token-logprob.test.ts",
  "tests/torch/fused-feed-forward.test.ts",
  "tests/torch/fused-linear.test.ts",
  "tests/torch/block-cache.test.ts",
  "tests/models/safetensors",
  "tests/attack/hostile-gguf.test.ts",
  "tests/generation/native-pass.test.ts",
];

const library = spawnSync("g++", ["-print-file-name=libasan.so"], {
  encoding: "utf8",
}).stdout?.trim();
if (!library || !existsSync(library)) {
  console.log("skipped: g++ has no AddressSanitizer here (libasan.so)");
  process.exit(0);
}
const undefinedBehaviour = spawnSync("g++", ["-print-file-name=libubsan.so"], { encoding: "utf8" });
const environment = {
  ...process.env,
  CXX: join(ROOT, "tools", "sanitize", "compiler.sh"),
  // Builds and notes of their own: the usual addon stays as it is.
  OPENMANUS_CACHE: join(ROOT, "build", "sanitize"),
  OPENMANUS_LIBTORCH: process.env.OPENMANUS_LIBTORCH ?? "system",
  LD_PRELOAD: `${library} ${undefinedBehaviour.stdout.trim()}`,
  ASAN_OPTIONS:
    "detect_leaks=0:abort_on_error=1:detect_odr_violation=0:alloc_dealloc_mismatch=0:allocator_may_return_null=1",
  UBSAN_OPTIONS: "print_stacktrace=1:halt_on_error=1",
};

function run(command: string, words: readonly string[]): number {
  const { status, signal } = spawnSync(command, words, {
    ...{ cwd: ROOT, stdio: "inherit", env: environment },
  });
  return signal === null ? (status ?? 1) : 1;
}

const asked = process.argv.slice(2);
const built = run(process.execPath, ["bin/bootstrap.mjs"]);
process.exitCode =
  built === 0
    ? run(process.execPath, [
        ...[
          "node_modules/vitest/vitest.mjs",
          "run",
          "--testTimeout=600000",
          "--hookTimeout=600000",
        ],
        ...(asked.length > 0 ? asked : TESTS),
      ])
    : built;
