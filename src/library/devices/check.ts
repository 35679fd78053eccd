/**
 * @file Does a device compute what it should? The goldens, generation, a small training and a comparison with the CPU,
 * as a report that says what was run: for whoever has a device that the tests have not.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OptionError } from "../../assembly/index.ts";
import { locateAddon } from "../../setup/index.ts";
import { type Device, runtimeInfo, tidy, useDevice, zeros } from "../../torch/index.ts";
import { type DeviceFinding, NotHere, type Part, runPart } from "./finding.ts";
import {
  checkAttention,
  checkGeneration,
  checkGolden,
  goldenFamilies,
  requireGoldens,
} from "./models.ts";
import {
  compareShort,
  compareTraining,
  copiesOf,
  type SmallRun,
  smallModel,
  smallRun,
} from "./training.ts";

export interface DeviceReport {
  readonly device: Device;
  readonly libtorch: string;
  /** Whether the addon was built with CUDA, and how many GPUs answer. */
  readonly cuda: string;
  readonly findings: readonly DeviceFinding[];
  /** Nothing differs or failed. */
  readonly passed: boolean;
}

export interface DeviceCheckOptions {
  /** Hears of each part when it is done. */
  readonly onFinding?: ((finding: DeviceFinding) => void) | undefined;
}

export async function checkDevice(
  device: Device,
  options: DeviceCheckOptions = {},
): Promise<DeviceReport> {
  const info = runtimeInfo();
  requireUsable(device, info.cudaDevices);
  const { linkedCuda } = locateAddon();
  const folder = mkdtempSync(join(tmpdir(), "openmanus-device-"));
  const findings: DeviceFinding[] = [];
  const part = async (name: string, body: Part): Promise<void> => {
    const finding = await runPart(name, body);
    findings.push(finding);
    options.onFinding?.(finding);
  };
  try {
    await part("goldens", () => {
      requireGoldens();
      return `${goldenFamilies().join(", ")}, as transformers computed them`;
    });
    for (const family of goldenFamilies()) {
      await part(`model ${family}`, () => checkGolden(family, device));
      await part(`generation ${family}`, () => checkGeneration(family, device));
    }
    for (const dtype of ["float32", "bfloat16", "float16"] as const)
      await part(`attention ${dtype}`, () => checkAttention(dtype, device));
    await checkTraining(folder, device, part);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return {
    device,
    libtorch: info.version,
    cuda: linkedCuda
      ? `built with CUDA${info.hasNccl ? " and NCCL" : ", without NCCL"}, ${info.cudaDevices} GPUs`
      : "built without CUDA",
    findings,
    passed: findings.every(({ outcome }) => outcome === "ok" || outcome === "skipped"),
  };
}

async function checkTraining(
  folder: string,
  device: Device,
  part: (name: string, body: Part) => Promise<void>,
): Promise<void> {
  const model = smallModel(folder);
  let here: SmallRun | undefined;
  let there: SmallRun | undefined;
  await part("training on the CPU", async () => {
    here = await smallRun(folder, "here", model, "cpu");
    return `${here.metrics.length} iterations in ${here.seconds.toFixed(1)} s`;
  });
  await part("training, beside the CPU", async () => {
    there = await smallRun(folder, "there", model, device);
    return compareTraining(needed(here), there);
  });
  await part("copies", () => copiesOf(needed(there)));
  await part("training, offloaded", async () => {
    const offloaded = await smallRun(folder, "offloaded", model, device, { offloaded: true });
    return compareTraining(needed(there), offloaded);
  });
  for (const dtype of ["bfloat16", "float16"] as const)
    await part(`training in ${dtype}`, () =>
      compareShort(folder, model, device, dtype, needed(there)),
    );
}

/** What an earlier part was to make. */
function needed(run: SmallRun | undefined): SmallRun {
  if (!run) throw new NotHere("what it would be compared with has failed");
  return run;
}

function requireUsable(device: Device, cudaDevices: number): void {
  try {
    if (!/^[a-z]+(:\d+)?$/.test(device)) throw new Error("expected cpu, cuda or cuda:N");
    if (device.startsWith("cuda") && cudaDevices === 0)
      throw new Error("no GPU answers, or the addon was built without CUDA");
    useDevice(device);
    tidy(() => zeros([1], { device }));
  } catch (error) {
    const reason = (error as Error).message.split("\n")[0];
    throw new OptionError(
      `the device "${device}" cannot be used here: ${reason}. \`openmanus-rl doctor\` lists the devices that can.`,
    );
  }
}
