/**
 * @file The stand-in device (native/standin): a device that is not the CPU, for machines that have none. Built once,
 * beside the addon and for the same libtorch, and loaded into this process. Tensors on `DEVICE` are in memory that
 * the host cannot touch, and operators refuse tensors of the host, as on CUDA.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { buildPlace } from "../../src/setup/cache/folder.ts";
import { buildAddon } from "../../src/setup/compile/build.ts";
import { findCompiler } from "../../src/setup/compile/compiler.ts";
import { locateAddon } from "../../src/setup/index.ts";
import { nodeHeaders } from "../../src/setup/machine/node-headers.ts";
import { runCommand } from "../../src/setup/support/command.ts";
import { PACKAGE_ROOT } from "../../src/setup/support/package.ts";
import { runtimeInfo } from "../../src/torch/index.ts";

export const DEVICE = "privateuseone:0";

/** For a hook that may have to build it, on a machine that does other work. */
export const BUILD_TIMEOUT = 600_000;

/** What went between host and device, by the device's own count: hidden copies, too. */
export interface DeviceCopies {
  toDevice: number;
  toHost: number;
  bytesToDevice: number;
  bytesToHost: number;
}

export interface Standin {
  copies(): DeviceCopies;
  /** From now on the device has FlashAttention's operator, as CUDA has. With Debian's libtorch. */
  offerFlashAttention(): void;
  /** An operator whose results are wrong by a hundredth from now on: `aten::bmm.out`'s name is `aten::bmm`. "": none. */
  spoil(operator: string): void;
}

/** The library's file, built where it is not there yet. */
export async function buildStandin(): Promise<string> {
  const stamp = locateAddon();
  const compiler = await findCompiler(process.env, runCommand);
  if (!compiler) throw new Error("the stand-in device needs the compiler that built the addon");
  const { addon } = await buildAddon({
    target: {
      libtorch: stamp.libtorch,
      nodeHeaders: nodeHeaders(),
      sources: join(PACKAGE_ROOT, "native/standin"),
      linkCuda: false,
    },
    compiler,
    folder: buildPlace(PACKAGE_ROOT, process.env).folder,
    cpu: stamp.cpu,
    jobs: 2,
    run: runCommand,
    report: () => {},
  });
  return addon;
}

/** Loads it into this process. */
export async function loadStandin(): Promise<Standin> {
  const file = await buildStandin();
  // The addon first: it sets what libtorch reads when it is loaded.
  runtimeInfo();
  const library = createRequire(import.meta.url)(file) as {
    copies(): number[];
    offerFlashAttention(): void;
    spoil(operator: string): void;
  };
  return {
    offerFlashAttention: () => library.offerFlashAttention(),
    spoil: (operator) => library.spoil(operator),
    copies() {
      const [toDevice, toHost, bytesToDevice, bytesToHost] = library.copies();
      return {
        toDevice: toDevice!,
        toHost: toHost!,
        bytesToDevice: bytesToDevice!,
        bytesToHost: bytesToHost!,
      };
    },
  };
}
