/**
 * @file `openmanus-rl diagnose`: on a run that is broken, one that is not, one that was damaged, and what is no run; and
 * `train` that goes on with another configuration, and ends at an alarm.
 */
import { appendFileSync, cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import type { Diagnosis } from "../../src/library/index.ts";
import { diagnose } from "../../src/library/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { newTinyFolder, tinySettings, warmTinyFolder } from "../training/support/runs.ts";

const parent = temporaryFolder();
const [broken, healthy] = [join(parent, "broken"), join(parent, "healthy")];
let warm: string;

let out: string[];
let errors: string[];
beforeEach(() => {
  [out, errors] = [[], []];
  vi.spyOn(console, "log").mockImplementation((text = "") => void out.push(String(text)));
  vi.spyOn(console, "error").mockImplementation((text = "") => void errors.push(String(text)));
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, "write").mockImplementation((text) => {
      out.push(String(text));
      return true;
    });
});
afterEach(() => vi.restoreAllMocks());

const train = (model: string, run: string, ...own: string[]) =>
  main(["train", "--model", model, ...tinySettings(model, run), ...own]);
const said = () => out.join("\n");

beforeAll(async () => {
  warm = await warmTinyFolder(parent);
  const untaught = newTinyFolder(parent, "untaught");
  await train(untaught, broken, "trainer.total_epochs=6", "env.rollout.n=4");
  await train(warm, healthy, "trainer.total_epochs=4");
}, 300_000);

describe("diagnose", () => {
  it("says of a model that was never warmed up what is wrong, with an episode and settings", async () => {
    expect(await main(["diagnose", broken])).toBe(1);
    expect(said()).toMatch(/broken: finished, 6 iterations, success 0 % → 0 %/);
    expect(said()).toMatch(
      /1\. (unreadable_replies|replies_cut|invalid_actions), since iteration \d: \d+ % of /,
    );
    expect(said()).toMatch(/It means: most .*\.\n {3}Try: /);
    expect(said()).toMatch(/data\.max_response_length=12 \(is 6\)/);
    expect(said()).toMatch(/Episode \d+:train\S+ of iteration \d+ \(.*\):\n {5}saw .*\n {5}said/);
    // What follows from it comes after it.
    expect(said()).toMatch(/no_success/);
    expect(said().indexOf("no_success")).toBeGreaterThan(said().indexOf("1. "));
  });

  it("says plainly that nothing is wrong", async () => {
    expect(await main(["diagnose", healthy])).toBe(0);
    expect(said()).toMatch(/Nothing is wrong: no alarm is raised by its metrics\./);
  });

  it("--json is what the library gives", async () => {
    expect(await main(["diagnose", broken, "--json"])).toBe(1);
    const found = JSON.parse(said()) as Diagnosis;
    expect(found).toEqual(JSON.parse(JSON.stringify(diagnose(broken))));
    expect(found.findings[0]).toMatchObject({ grade: "setup", from: expect.any(Number) });
  });

  it("of a damaged folder says what it can, and what it cannot", async () => {
    const damaged = join(parent, "damaged");
    cpSync(broken, damaged, { recursive: true });
    appendFileSync(join(damaged, "metrics.jsonl"), '{"step": 7, "actor\n\u0000\u0000garbage\n');
    truncateSync(join(damaged, "config.yaml"), 40);
    writeFileSync(join(damaged, "log.jsonl"), "no log\n");
    rmSync(join(damaged, "trajectories"), { recursive: true });
    expect(await main(["diagnose", damaged])).toBe(1);
    expect(said()).toMatch(/note: 2 lines of metrics\.jsonl cannot be read/);
    expect(said()).toMatch(/note: no episodes are stored/);
    expect(said()).toMatch(/1\. \w+, since iteration/);
  });

  it("shows what episodes say as text", async () => {
    const hostile = join(parent, "hostile");
    cpSync(broken, hostile, { recursive: true });
    const metrics = readFileSync(join(hostile, "metrics.jsonl"), "utf8");
    // A component's name is anybody's.
    writeFileSync(
      join(hostile, "metrics.jsonl"),
      metrics.replaceAll('"training/usable', '"rewards/\\u001b[2Jx/failed":1,"training/usable'),
    );
    await main(["diagnose", hostile]);
    expect(said()).not.toContain("\u001b");
    expect(said()).toContain("reward_failed");
  });

  it("refuses what is no run", async () => {
    expect(await main(["diagnose", parent])).toBe(1);
    expect(errors.join("\n")).toMatch(/is no run's folder .* Give the folder that train names/);
    expect(await main(["diagnose"])).toBe(2);
  });
});

describe("train", () => {
  it("ends at a serious alarm with exit code 1 where it is asked to", async () => {
    const run = join(parent, "ended");
    const code = await train(
      join(parent, "untaught"),
      run,
      ...["trainer.total_epochs=9", "trainer.on_alarm=stop"],
    );
    expect(code).toBe(1);
    expect(said()).toMatch(
      /the run ends after iteration \d: alarm \w+: .*trainer\.on_alarm is stop/,
    );
    await main(["diagnose", run]);
    expect(said()).toMatch(/ended: stopped, \d iterations.*\nIt ended because: alarm /);
  });

  it("says what changed when it goes on, and refuses what would make it another run", async () => {
    const more = ["trainer.total_epochs=5", "actor_rollout_ref.actor.optim.lr=5e-4"];
    expect(await train(warm, healthy, ...more), errors.join("\n")).toBe(0);
    expect(said()).toMatch(
      /settings changed: trainer\.total_epochs from 4 to 5 \(.*the run is the same/,
    );
    expect(said()).toMatch(/iteration 4: settings changed: .*optim\.lr from 0\.001 to 0\.0005/);
    expect(await train(warm, healthy, ...more, "reward.format=1", "env.max_steps=3")).toBe(1);
    const refusal = errors.join("\n");
    expect(refusal).toMatch(/reward\.format: 0 there, 1 now \(another reward: /);
    expect(refusal).toMatch(
      /env\.max_steps: .* there, 3 now \(another world, or the same in another form/,
    );
    expect(refusal).toMatch(/begin anew with trainer\.resume_mode=disable, or set these back/);
  });
});
