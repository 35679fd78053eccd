/**
 * @file Where CUDA's and NCCL's headers are: beside a wheel's torch (the nvidia-… packages that came with it), in
 * CUDA_HOME, where NVIDIA's installer puts them. Only process groups over NCCL need them.
 */

import { join } from "node:path";
import { isFolder, namesIn } from "../support/files.ts";
import type { Libtorch } from "./libtorch.ts";

export function cudaHeaders(
  { root }: Pick<Libtorch, "root">,
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const beside = join(root, "..", "nvidia");
  return [
    ...namesIn(beside).map((name) => join(beside, name, "include")),
    ...(environment.CUDA_HOME ? [join(environment.CUDA_HOME, "include")] : []),
    "/usr/local/cuda/include",
  ].filter(isFolder);
}

/**
 * Whether the addon is linked with CUDA's libraries, which costs 0.3 s and 370 MB at every start: where there is a GPU,
 * or where OPENMANUS_CUDA=1 asks for it (to build on one machine for another).
 */
export function wantsCuda(
  { cuda }: Pick<Libtorch, "cuda">,
  hasGpu: boolean,
  environment: Readonly<Record<string, string | undefined>>,
): boolean {
  return cuda && (hasGpu || environment.OPENMANUS_CUDA === "1");
}
