/**
 * @file `npm run bench -- engine`: operator overhead and matrix products beside Python's torch, fused
 * operators beside stock ones, leaks over 10,000 training steps.
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import * as torch from "../src/torch/index.ts";
import { type FusedCase, fusedCases } from "./engine-fused.ts";
import { leakOver } from "./engine-leak.ts";
import type { Benchmark } from "./main.ts";
import { megabytes, milliseconds, peakMemory, sideBySide, table } from "./measure.ts";

interface Speed {
  version: string;
  threads: number;
  operatorMicroseconds: number;
  gemmGflops: number;
}

interface FusedFigures {
  name: string;
  fusedSeconds: number;
  stockSeconds: number;
  ratio: number;
  fusedExtraBytes: number;
  stockExtraBytes: number;
}

interface EngineFigures {
  ours: Speed;
  /** Null when no Python with torch is on the PATH (or OPENMANUS_BENCH_PYTHON). */
  python: Speed | null;
  fused: FusedFigures[];
  leak: { steps: number; tensors: number; residentBytes: number };
}

function ourSpeed(): Speed {
  return {
    version: torch.runtimeInfo().version,
    threads: torch.threads(),
    operatorMicroseconds: torch.measureOperator(30),
    gemmGflops: torch.measureGemm(1024, 20),
  };
}

function pythonSpeed(): Speed | null {
  const script = fileURLToPath(new URL("./python/engine.py", import.meta.url));
  const python = process.env.OPENMANUS_BENCH_PYTHON ?? "python3";
  try {
    const output = execFileSync(python, [script, String(torch.threads())], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return JSON.parse(output) as Speed;
  } catch {
    return null;
  }
}

/** Of two readings, around the other's: each at its best. */
function bestOf(a: Speed, b: Speed): Speed {
  return {
    ...a,
    operatorMicroseconds: Math.min(a.operatorMicroseconds, b.operatorMicroseconds),
    gemmGflops: Math.max(a.gemmGflops, b.gemmGflops),
  };
}

function compare({ name, fused, stock }: FusedCase): FusedFigures {
  const seconds = sideBySide({ fused, stock });
  return {
    name,
    fusedSeconds: seconds.fused,
    stockSeconds: seconds.stock,
    ratio: seconds.stock / seconds.fused,
    fusedExtraBytes: peakMemory(fused),
    stockExtraBytes: peakMemory(stock),
  };
}

export const engine: Benchmark = {
  run(): EngineFigures {
    const first = ourSpeed();
    const python = pythonSpeed();
    const ours = bestOf(first, ourSpeed());
    // Before the large cases, whose freed memory the allocator may keep.
    const leak = leakOver(10_000);
    const fused = torch.tidy(() => fusedCases().map(compare));
    return { ours, python, fused, leak };
  },
  report(figures) {
    const { ours, python, fused, leak } = figures as EngineFigures;
    const speedRow = (name: string, speed: Speed) => [
      name,
      speed.version,
      String(speed.threads),
      `${speed.operatorMicroseconds.toFixed(2)} µs`,
      `${speed.gemmGflops.toFixed(1)} GFLOPS`,
    ];
    const speeds = [
      ["", "libtorch", "threads", "small add", "1024³ product"],
      speedRow("ours", ours),
    ];
    if (python) {
      speeds.push(speedRow("Python", python), [
        "ratio",
        "",
        "",
        `${(ours.operatorMicroseconds / python.operatorMicroseconds).toFixed(2)} ×`,
        `${(ours.gemmGflops / python.gemmGflops).toFixed(2)} ×`,
      ]);
    }
    const rows = fused.map((figure) => [
      figure.name,
      milliseconds(figure.fusedSeconds),
      milliseconds(figure.stockSeconds),
      `${figure.ratio.toFixed(2)} ×`,
      megabytes(figure.fusedExtraBytes),
      megabytes(figure.stockExtraBytes),
    ]);
    return [
      table(speeds),
      python ? "" : "(no Python with torch: set OPENMANUS_BENCH_PYTHON to one)",
      table([
        ["forward + backward", "fused", "stock", "faster", "extra", "extra (stock)"],
        ...rows,
      ]),
      "",
      `${leak.steps} training steps: ${leak.tensors} tensors left, resident memory ${leak.residentBytes >= 0 ? "+" : ""}${megabytes(leak.residentBytes)}`,
    ].join("\n");
  },
};
