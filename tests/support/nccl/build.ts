/**
 * @file Builds the stand-in for NCCL's library (library.cc). OPENMANUS_NCCL is for our addon, VLLM_NCCL_SO_PATH for vLLM.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findCompiler } from "../../../src/setup/compile/compiler.ts";
import { runCommand } from "../../../src/setup/support/command.ts";

const SOURCE = fileURLToPath(new URL("./library.cc", import.meta.url));

/** The library's file, in this folder. */
export async function buildNccl(folder: string): Promise<string> {
  const compiler = await findCompiler(process.env, runCommand);
  if (!compiler) throw new Error("the stand-in for NCCL needs the compiler that built the addon");
  const file = join(folder, "libnccl-stand-in.so");
  const words = ["-std=c++17", "-O1", "-shared", "-fPIC", "-pthread", SOURCE, "-o", file];
  const { status, stderr } = await runCommand(compiler.path, words);
  if (status !== 0) throw new Error(`the stand-in for NCCL does not compile:\n${stderr}`);
  return file;
}
