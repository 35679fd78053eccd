/**
 * @file `openmanus-rl doctor`: what this machine computes with, how fast, and plain advice; and whether a device
 * computes what it should.
 */
import { freemem, totalmem } from "node:os";
import { checkDevice, type DeviceFinding } from "../../library/index.ts";
import {
  availableThreads,
  type CpuFeatures,
  checkSetup,
  cpuFeatures,
  hasAvx512,
  locateAddon,
  SETUP_COMMAND,
  SetupError,
} from "../../setup/index.ts";
import {
  measureGemm,
  measureOperator,
  type RuntimeInfo,
  runtimeInfo,
  threads,
} from "../../torch/index.ts";
import { options, UsageError } from "../arguments/usage.ts";
import type { Command } from "../main.ts";
import { print } from "../support/print.ts";

export interface Diagnosis {
  /** Whether set-up has run: without it there is nothing to measure, and only what is missing is said. */
  ready: true;
  libtorch: {
    version: string;
    origin: string;
    root: string;
    cxx11Abi: boolean;
    /** The instruction set of libtorch's own kernels. */
    cpuCapability: string;
  };
  cpu: { model: string; architecture: string; vectors: string[] };
  blas: { library: string; kernel: string };
  /** Threads of one operator, and the cores this process may use. */
  threads: number;
  cores: number;
  devices: string[];
  /** Process-group backends. */
  distributed: string[];
  memory: { totalGb: number; freeGb: number };
  /** A 1024³ float32 matrix product. */
  gemmGflops: number;
  /** One small addition through the typed API. */
  operatorMicroseconds: number;
  advice: string[];
}

const VECTOR_FLAGS = [
  "sse4_2",
  "avx",
  "avx2",
  "fma",
  "avx512f",
  "avx512_bf16",
  "amx_bf16",
  "asimd",
  "sve",
];

export function diagnose(): Diagnosis {
  const { libtorch } = locateAddon();
  const cpu = cpuFeatures();
  const info = runtimeInfo();
  const capability = /CPU capability usage: (\S+)/.exec(info.config)?.[1] ?? "unknown";
  const facts: Omit<Diagnosis, "advice"> = {
    ready: true,
    libtorch: {
      version: libtorch.version,
      origin: libtorch.origin,
      root: libtorch.root,
      cxx11Abi: info.cxx11Abi,
      cpuCapability: capability,
    },
    cpu: {
      model: cpu.model,
      architecture: cpu.architecture,
      vectors: VECTOR_FLAGS.filter((flag) => cpu.flags.includes(flag)),
    },
    blas: blasOf(info, capability),
    threads: threads(),
    cores: availableThreads(),
    devices: ["cpu", ...Array.from({ length: info.cudaDevices }, (_, i) => `cuda:${i}`)],
    distributed: [info.hasGloo && "gloo", info.hasNccl && "nccl"].filter((name) => name !== false),
    memory: { totalGb: gigabytes(totalmem()), freeGb: gigabytes(freemem()) },
    gemmGflops: rounded(measureGemm()),
    operatorMicroseconds: rounded(measureOperator()),
  };
  return { ...facts, advice: adviceFor(facts, cpu, info) };
}

function blasOf(info: RuntimeInfo, capability: string): Diagnosis["blas"] {
  if (info.openblasKernel !== undefined)
    return {
      library: /OpenBLAS [\d.]+/.exec(info.openblasConfig ?? "")?.[0] ?? "OpenBLAS",
      kernel: info.openblasKernel,
    };
  // MKL chooses its kernels itself and does not say which; libtorch's own choice is the same kind.
  if (info.hasMkl) return { library: "MKL", kernel: capability };
  return { library: "unknown", kernel: "unknown" };
}

/** Kernels that OpenBLAS falls back to when it does not recognise a CPU. */
const OLD_KERNELS = new Set([
  "Prescott",
  "Core2",
  "Nehalem",
  "Generic",
  "Katmai",
  "Banias",
  "Penryn",
]);

export function adviceFor(
  facts: Omit<Diagnosis, "advice">,
  cpu: Pick<CpuFeatures, "flags">,
  info: Pick<RuntimeInfo, "hasCuda" | "cudaDevices">,
): string[] {
  const advice: string[] = [];
  const modern = cpu.flags.includes("avx2");
  if (facts.blas.library === "unknown")
    advice.push(
      "No optimised BLAS is loaded, so matrix products are very slow. Install one: apt-get install libopenblas0-pthread",
    );
  if (modern && OLD_KERNELS.has(facts.blas.kernel))
    advice.push(
      `OpenBLAS uses its ${facts.blas.kernel} kernels although the CPU has AVX2 (about 4 times slower). Is OPENBLAS_CORETYPE set in your environment? Unset it.`,
    );
  if (facts.blas.kernel === "Haswell" && hasAvx512(cpu.flags))
    advice.push(
      "OpenBLAS uses its Haswell kernels although the CPU has AVX-512 (up to twice as slow). Is OPENBLAS_CORETYPE set in your environment? Unset it.",
    );
  if (facts.threads < facts.cores)
    advice.push(
      `Operators use ${facts.threads} of ${facts.cores} cores. Is OMP_NUM_THREADS set? Unset it to use them all.`,
    );
  if (facts.threads > facts.cores)
    advice.push(
      `Operators use ${facts.threads} threads on ${facts.cores} cores, which is slower than fewer. Unset OMP_NUM_THREADS.`,
    );
  if (modern && facts.gemmGflops < 12 * facts.threads)
    advice.push(
      `A matrix product ran at ${facts.gemmGflops} GFLOPS on ${facts.threads} threads, less than half of what such a CPU does. Is something else running?`,
    );
  if (facts.operatorMicroseconds > 5)
    advice.push(
      `One operator costs ${facts.operatorMicroseconds} µs; 1 to 2 µs is normal. Is something else running?`,
    );
  if (facts.memory.freeGb < 2)
    advice.push(`Only ${facts.memory.freeGb} GB of memory are free; training may be killed.`);
  if (info.hasCuda && info.cudaDevices === 0)
    advice.push("libtorch is a CUDA build, but no GPU answers; computing on the CPU.");
  if (!facts.distributed.includes("gloo"))
    advice.push(
      `This build has no Gloo, so training runs in one process. Install its headers and set up again: apt-get install libgloo-dev && ${SETUP_COMMAND}`,
    );
  return advice;
}

function gigabytes(bytes: number): number {
  return rounded(bytes / 2 ** 30);
}

function rounded(value: number): number {
  return Number(value.toPrecision(3));
}

function report(found: Diagnosis): string {
  const { libtorch, cpu, blas, memory } = found;
  const rows: [string, string][] = [
    [
      "libtorch",
      `${libtorch.version} (${libtorch.origin}, ${libtorch.root}), C++11 ABI ${libtorch.cxx11Abi ? "new" : "old"}`,
    ],
    ["cpu", `${cpu.model} (${cpu.vectors.join(" ")})`],
    ["kernels", `libtorch ${libtorch.cpuCapability}, ${blas.library} ${blas.kernel}`],
    ["threads", `${found.threads} of ${found.cores} cores`],
    ["devices", found.devices.join(", ")],
    ["processes", found.distributed.join(", ") || "no backend"],
    ["memory", `${memory.freeGb} of ${memory.totalGb} GB free`],
    ["matrix product", `${found.gemmGflops} GFLOPS (1024³, float32)`],
    ["operator", `${found.operatorMicroseconds} µs (small add, typed API)`],
  ];
  return table(rows, found.advice);
}

function table(rows: readonly [string, string][], advice: readonly string[]): string {
  const lines = rows.map(([name, text]) => `${name.padEnd(15)} ${text}`);
  const marked = advice.map((text) => `! ${text}`);
  return [...lines, "", ...(marked.length > 0 ? marked : ["All is well."])].join("\n");
}

/** Before set-up, or when what it built no longer loads. */
async function notReady(problem: SetupError, json: boolean): Promise<string> {
  const { libtorch, compiler, notes } = await checkSetup();
  const advice = [...notes, `Not ready: ${problem.message}`];
  if (json)
    return JSON.stringify(
      { ready: false, node: process.version, libtorch, compiler, advice },
      null,
      2,
    );
  const rows: [string, string][] = [
    ["node", process.version],
    ["libtorch", libtorch ? `${libtorch.version} (${libtorch.origin}, ${libtorch.root})` : "none"],
    ["compiler", compiler ?? "none"],
    ["native addon", "none that loads"],
  ];
  return table(rows, advice);
}

const MARKS = { ok: "ok", differs: "DIFFERS", failed: "FAILED", skipped: "skipped" } as const;

/** The check of a device, told part by part: it takes a while. */
async function checked(device: string, found: Diagnosis, json: boolean): Promise<number> {
  if (!json) print(`${report(found)}\n\ndevice ${device}`);
  const line = ({ name, outcome, detail, seconds }: DeviceFinding) =>
    `${MARKS[outcome].padEnd(8)} ${name.padEnd(26)} ${`${seconds.toFixed(1)} s`.padStart(7)}  ${detail}`;
  const result = await checkDevice(device, {
    onFinding: (finding) => {
      if (!json) print(line(finding));
    },
  });
  if (json) print(JSON.stringify({ machine: found, ...result }, null, 2));
  else
    print(
      `\nlibtorch ${result.libtorch}, ${result.cuda}\n` +
        (result.passed
          ? `${device} computes what it should.`
          : `${device} does not compute what it should: attach this report to an issue.`),
    );
  return result.passed ? 0 : 1;
}

export const doctor: Command = {
  help: [
    "Usage: openmanus-rl doctor [--json] [--device NAME --check]",
    "",
    "Shows what this machine computes with (libtorch, BLAS and its kernels, threads, devices,",
    "memory), measures a matrix product and the cost of one operator, and says what to do when",
    "something is slow or missing. Before set-up it says what of that is there; the exit code is 1.",
    "",
    "With --check it computes on a device: models whose results transformers computed, generation, a small",
    "training beside the same on the CPU, in shorter floats and offloaded. It prints what was run and how far",
    "it was apart, a report to attach; the exit code is 1 if anything differs. The first thing to run on a GPU.",
    "",
    "  --check          the check of a device, which takes a minute or two",
    "  --device NAME    the one that is checked: cpu, cuda, cuda:1 (default: cuda if there is a GPU, else cpu)",
    "  --json           one JSON object on standard output",
    "",
    "Example: openmanus-rl doctor --json | jq .gemmGflops",
    "Example: openmanus-rl doctor --device cuda --check",
  ].join("\n"),
  async run(words) {
    const { json, check, device } = options(words, {
      json: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
      device: { type: "string" },
    });
    if (device !== undefined && !check)
      throw new UsageError(
        `--device ${device} is for a check of that device: openmanus-rl doctor --device ${device} --check`,
      );
    try {
      const found = diagnose();
      if (check) return await checked(device ?? found.devices[1] ?? "cpu", found, json);
      print(json ? JSON.stringify(found, null, 2) : report(found));
      return 0;
    } catch (error) {
      if (!(error instanceof SetupError)) throw error;
      print(await notReady(error, json));
      return 1;
    }
  },
};
