/**
 * @file Ranks of one machine have GPUs of their own. No GPU is needed to see which.
 */
import { afterEach, expect, it, vi } from "vitest";
import { resolveConfig, runOptions } from "../../src/config/index.ts";

afterEach(() => vi.unstubAllEnvs());

async function deviceOf(device: string): Promise<string> {
  const overrides = [`trainer.device=${device}`, "env.env_name=household"];
  const { options } = await runOptions(resolveConfig({ overrides }).config);
  return options.play.device;
}

it("cuda is the rank's own GPU, one that is named stays", async () => {
  expect(await deviceOf("cuda")).toBe("cuda");
  vi.stubEnv("RANK", "5").stubEnv("WORLD_SIZE", "8").stubEnv("LOCAL_RANK", "1");
  vi.stubEnv("MASTER_ADDR", "127.0.0.1").stubEnv("MASTER_PORT", "29500");
  expect(await deviceOf("cuda")).toBe("cuda:1");
  expect(await deviceOf("cuda:3")).toBe("cuda:3");
  expect(await deviceOf("cpu")).toBe("cpu");
});
