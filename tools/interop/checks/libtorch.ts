/**
 * @file A current libtorch, with CUDA: the wheel of torch among the peers. The addon compiles, links and loads with its
 * CUDA libraries (process groups over NCCL included), without a GPU; and with it the CPU trains in float16 with a
 * scaled loss, which Debian's libtorch cannot.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DeviceFinding } from "../../../src/library/index.ts";
import type { Finding, InteropCheck } from "../check.ts";
import type { Peers } from "../peers.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** What nvcc alone brings of CUDA's headers, and NCCL's process groups include. As old as the wheel's runtime. */
const COMPILER_HEADERS = "nvidia-cuda-crt==13.2.86";

/** What hangs is ended. Milliseconds. */
const LONGEST = 25 * 60 * 1000;

function run(words: readonly string[], variables: Readonly<Record<string, string>>) {
  const { status, stdout, stderr } = spawnSync(process.execPath, words, {
    cwd: ROOT,
    encoding: "utf8",
    env: { ...process.env, VIRTUAL_ENV: "", ...variables },
    timeout: LONGEST,
    maxBuffer: 2 ** 26,
  });
  return { status, stdout, text: `${stdout}${stderr}` };
}

/** The folder to name as CUDA_HOME; fetched once, beside the peers. */
function compilerHeaders(peers: Peers): string | undefined {
  const folder = join(peers.folder, `headers-${COMPILER_HEADERS.replace("==", "-")}`);
  const home = join(folder, "nvidia", "cu13");
  if (existsSync(join(home, "include", "crt", "host_config.h"))) return home;
  const words = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-deps"];
  spawnSync(
    join(peers.folder, "venv", "bin", "python"),
    [...words, "--target", folder, COMPILER_HEADERS],
    { timeout: LONGEST },
  );
  return existsSync(join(home, "include", "crt", "host_config.h")) ? home : undefined;
}

const check: InteropCheck = {
  name: "libtorch",
  async run(peers): Promise<Finding[]> {
    const libtorch = join(peers.folder, "venv");
    const home = compilerHeaders(peers);
    const variables = {
      OPENMANUS_LIBTORCH: libtorch,
      OPENMANUS_CUDA: "1",
      ...(home && { CUDA_HOME: home }),
    };
    const begun = performance.now();
    const built = run(["bin/bootstrap.mjs"], variables);
    const seconds = (performance.now() - begun) / 1000;
    const compiles = "the addon compiles, links and loads";
    if (built.status !== 0)
      return [{ what: compiles, detail: "", problem: built.text.slice(-3000) }];
    const checked = run(
      ["bin/openmanus-rl.mjs", "doctor", "--device", "cpu", "--check", "--json"],
      variables,
    );
    if (checked.status === null || !checked.stdout.startsWith("{"))
      return [{ what: compiles, detail: "", problem: checked.text.slice(-3000) }];
    const report = JSON.parse(checked.stdout) as {
      machine: { distributed: string[]; libtorch: { version: string } };
      findings: DeviceFinding[];
      cuda: string;
    };
    const cuda = hasCuda(libtorch);
    const nccl = report.machine.distributed.includes("nccl");
    return [
      { what: compiles, detail: `${report.machine.libtorch.version}, ${seconds.toFixed(0)} s` },
      {
        what: "with CUDA and NCCL",
        detail: report.cuda,
        problem: cuda && !nccl ? `no NCCL in the addon; CUDA_HOME ${home}` : undefined,
      },
      ...report.findings.map(({ name, outcome, detail }) => ({
        what: name,
        detail,
        // Here nothing is out of reach: what was skipped was to be run.
        problem: outcome === "ok" ? undefined : `${outcome}: ${detail}`,
      })),
    ];
  },
};

/** On some machines pip gives a torch without it. */
function hasCuda(libtorch: string): boolean {
  return readdirSync(join(libtorch, "lib"))
    .filter((name) => name.startsWith("python3"))
    .some((name) =>
      existsSync(join(libtorch, "lib", name, "site-packages/torch/lib/libtorch_cuda.so")),
    );
}

export default check;
