/**
 * @file Keys of servers: settings say where they are, and nothing repeats what may be one.
 */
import { describe, expect, it } from "vitest";
import { resolveConfig, runOptions, settingsNote, withoutSecrets } from "../../src/config/index.ts";
import { temporaryFolder } from "../rollout/support.ts";

const folder = temporaryFolder();

const JUDGE = ["reward.judge=1", "reward.judge_endpoint=http://127.0.0.1:1/v1"];

describe("the place of a key", () => {
  it.each([
    ["env:SECRETS_NOT_SET", /judge_api_key: .*SECRETS_NOT_SET,.* is not set/],
    ["file:/nowhere/at/all", /file \/nowhere\/at\/all,.* cannot be read \(ENOENT\)/],
    [`file:${folder}`, /cannot be read \(EISDIR\)/],
  ])("%s is refused before a run begins", async (place, message) => {
    const { config } = resolveConfig({ overrides: [...JUDGE, `reward.judge_api_key=${place}`] });
    await expect(runOptions(config)).rejects.toThrow(message);
  });
});

it.each([
  ["reward.judge_api_key", "hush-1"],
  ["reward.judge_api_key", "123456789"],
  ["reward.judge_api_key", "[hush, hush]"],
  ["reward.judge_api_key", "{hush: hush}"],
  ["reward.judge_api_key", "env:hush-hush"],
  ["env.summary_api_key", "hush-2"],
  ["env.summary_api_key", "file:"],
])("%s=%s is refused, and not repeated", (setting, key) => {
  let message = "";
  try {
    resolveConfig({ overrides: [`${setting}=${key}`] });
  } catch (error) {
    message = (error as Error).message;
  }
  expect(message).toMatch(
    new RegExp(`${setting} (looks like a key in plain text; write env:NAME|must be)`),
  );
  expect(message.replaceAll("env:NAME", "")).not.toMatch(/hush|1234/);
});

it("addresses are written down without their passwords, and places of keys as they are", () => {
  const { config } = resolveConfig({
    overrides: [
      "reward.judge_endpoint=http://me:hush@host:1/v1",
      "reward.judge_api_key=env:SOME_KEY",
      "env.summary_api_key=file:/some/where",
      "env.options.url=https://me:hush@host,https://hush@other",
      "env.options.more=[http://a:hush@b/?api_key=hush&x=1]",
      "env.options.path=//not/an@address",
    ],
  });
  const text = JSON.stringify(withoutSecrets(config));
  expect(text).not.toMatch(/hush/);
  expect(text).toContain("http://…@host:1/v1");
  expect(text).toContain("https://…@host,https://…@other");
  expect(text).toContain("http://…@b/?api_key=…&x=1");
  expect(text).toContain("//not/an@address");
  expect(text).toContain('"judge_api_key":"env:SOME_KEY"');
  expect(settingsNote(config)).not.toMatch(/hush/);
  expect(settingsNote(config)).toContain("file:/some/where");
});
