/**
 * @file `openmanus-rl doctor --device NAME --check`, on the CPU and on the stand-in device: what computes rightly
 * passes, what does not is found.
 */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { runPart } from "../../src/library/devices/finding.ts";
import { checkAttention, checkGeneration, checkGolden } from "../../src/library/devices/models.ts";
import { BUILD_TIMEOUT, DEVICE, loadStandin, type Standin } from "../support/standin.ts";

let standin: Standin;
beforeAll(async () => {
  standin = await loadStandin();
}, BUILD_TIMEOUT);

let printed = "";
let errors = "";
beforeEach(() => {
  printed = "";
  errors = "";
  vi.spyOn(console, "log").mockImplementation((text: string) => {
    printed += `${text}\n`;
  });
  vi.spyOn(console, "error").mockImplementation((text: string) => {
    errors += `${text}\n`;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  standin.spoil("");
});

/** Two machines' worth of patience: it trains several times. */
const PATIENCE = 300_000;

describe("doctor --check", () => {
  it(
    "says what was compared, and how far it was apart, on another device",
    async () => {
      expect(await main(["doctor", "--device", DEVICE, "--check"])).toBe(0);
      expect(printed).toMatch(/^ok +model smollm3 .*gradients \S+e-\d/m);
      expect(printed).toMatch(/^ok +generation gemma3_text .*drawn tokens that differ 0/m);
      expect(printed).toMatch(/^ok +attention bfloat16 .*openmanus::chunked_attention/m);
      expect(printed).toMatch(/^ok +training, beside the CPU .*weights \d/m);
      expect(printed).toMatch(/^ok +training, offloaded/m);
      expect(printed).toMatch(/^ok +copies +\S+ s +\d+ to the device \(\d/m);
      expect(printed).toContain(`${DEVICE} computes what it should.`);
    },
    PATIENCE,
  );

  it("finds a device that computes wrongly", async () => {
    const outcomes = async () => [
      (await runPart("model", () => checkGolden("smollm3", DEVICE))).outcome,
      (await runPart("generation", () => checkGeneration("smollm3", DEVICE))).outcome,
      (await runPart("attention", () => checkAttention("float32", DEVICE))).outcome,
    ];
    expect(await outcomes()).toEqual(["ok", "ok", "ok"]);
    standin.spoil("aten::silu");
    expect(await outcomes()).toEqual(["differs", "differs", "ok"]);
    standin.spoil("aten::bmm");
    expect((await outcomes())[2]).toBe("failed");
    // A NaN agrees with nothing.
    const found = await runPart("NaN", () => [{ what: "it", found: Number.NaN, most: 1 }]);
    expect(found.outcome).toBe("differs");
  });

  it(
    "the CPU, as JSON",
    async () => {
      expect(await main(["doctor", "--device", "cpu", "--check", "--json"])).toBe(0);
      const report = JSON.parse(printed);
      expect(report.passed).toBe(true);
      expect(report.machine.ready).toBe(true);
      const outcomes = new Map(
        report.findings.map((finding: { name: string; outcome: string }) => [
          finding.name,
          finding.outcome,
        ]),
      );
      expect(outcomes.get("training in bfloat16")).toBe("ok");
      expect(outcomes.get("training, beside the CPU")).toBe("ok");
    },
    PATIENCE,
  );

  it.each(["cuda", "privateuseone:9", "tpu", "CPU; rm"])(
    "without the device %s: a sentence",
    async (device) => {
      expect(await main(["doctor", "--device", device, "--check"])).toBe(1);
      expect(errors).toContain(`the device "${device}" cannot be used here: `);
      expect(errors).not.toContain("    at ");
    },
  );

  it("a device without a check is not silently ignored", async () => {
    expect(await main(["doctor", "--device", "cuda"])).toBe(2);
    expect(errors).toContain("doctor --device cuda --check");
  });
});
