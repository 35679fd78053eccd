/**
 * @file The view of a run on a terminal, and its plain lines elsewhere.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  formatCount,
  formatNumber,
  formatPercent,
  formatSeconds,
  openTerminal,
} from "../../src/monitoring/index.ts";
import { renderLine, widthOf } from "../../src/monitoring/terminal/style.ts";
import { emulator } from "./terminal-emulator.ts";

const STEP = {
  "episode/reward/mean": 4.25,
  "episode/success_rate": 0.425,
  "actor/pg_loss": -0.0123,
  "critic/vf_loss": 0.5,
  "actor/ppo_kl": 0.002,
  "actor/entropy": 1.25,
  "perf/throughput": 12_345,
  "timing_s/step": 10,
  "timing_s/gen": 6,
  "timing_s/update_actor": 3,
};

const PLAIN = { NO_COLOR: "1" };

function live(columns: number, environment: Record<string, string> = PLAIN, rows = 24) {
  const stream = emulator({ columns, rows });
  const view = openTerminal({ totalSteps: 20, title: "GiGPO on rooms", stream, environment });
  return { stream, view };
}

describe("the live view", () => {
  it("shows where the run is, what it learns and where its time goes", () => {
    const { stream, view } = live(110);
    view.doing("generating");
    view.log(1, { ...STEP, "val/success_rate": 0.3 });
    view.log(2, { ...STEP, "episode/reward/mean": 5 });
    const lines = stream.lines();
    expect(lines[0]).toBe("GiGPO on rooms  step 2 of 20  generating");
    expect(lines[1]).toBe(`${"█".repeat(4)}${"░".repeat(36)}  10.0%  elapsed 20.0s  left 3m00s`);
    expect(lines[2]).toBe("reward 5.000 ▁█  success 42.5% ▄▄  validation 30.0% at step 1");
    expect(lines[3]).toBe(
      "policy loss -0.0123  value loss 0.5000  kl 0.0020  entropy 1.250  tokens/s 12.3k",
    );
    expect(lines[4]).toBe(
      `time ${"█".repeat(18)}${"▒".repeat(9)}${"█".repeat(3)}  gen 60%  update_actor 30%  other 10%`,
    );
    expect(lines).toHaveLength(5);
    view.close();
  });

  it("is drawn in place: one write a frame, no line blank in between", () => {
    const { stream, view } = live(90);
    const before = stream.written.length;
    for (let step = 1; step <= 5; step++) view.log(step, STEP);
    expect(stream.written.length - before).toBe(5);
    // Whole lines or the screen are never cleared before they are written again.
    expect(stream.written.join("")).not.toMatch(/\[2K|\[2J|\[H/);
    expect(stream.lines()).toHaveLength(5);
    expect(stream.lines()[0]).toContain("step 5 of 20");
    view.close();
  });

  it("keeps printed lines above it, in order", () => {
    const { stream, view } = live(90);
    view.log(1, STEP);
    view.print("saved\x1b[2J step 1\n");
    view.log(2, STEP);
    view.print("saved step 2");
    view.close();
    const lines = stream.lines();
    expect(lines.slice(0, 2)).toEqual(["saved[2J step 1", "saved step 2"]);
    expect(lines[2]).toContain("step 2 of 20");
    expect(lines).toHaveLength(7);
    view.print("the end");
    expect(stream.lines()).toEqual([...lines, "the end"]);
  });

  it("fits every terminal", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 200 }),
        fc.integer({ min: 2, max: 12 }),
        (columns, rows) => {
          const { stream, view } = live(columns, {}, rows);
          view.log(1, { ...STEP, "val/success_rate": 1 });
          const first = stream.lines();
          view.doing("");
          view.close();
          // Drawn again it is the same lines: none was broken, none scrolled out of reach.
          expect(stream.lines()).toEqual(first);
          expect(first.length).toBeLessThan(rows);
          for (const line of first) expect(line.length).toBeLessThan(columns);
        },
      ),
    );
  });

  it("leaves nothing behind when the terminal becomes narrower or wider", () => {
    for (const columns of [30, 60, 150]) {
      const { stream, view } = live(100);
      view.log(1, STEP);
      stream.resize(columns);
      const fresh = live(columns);
      fresh.view.log(1, STEP);
      expect(stream.lines()).toEqual(fresh.stream.lines());
      view.close();
      fresh.view.close();
    }
  });

  it("gives the cursor back, and listens to nothing any more", () => {
    const listeners = () =>
      ["exit", "SIGINT", "SIGTERM", "SIGHUP"].map((name) => process.listenerCount(name));
    const before = listeners();
    const { stream, view } = live(90);
    expect(stream.cursorVisible).toBe(false);
    view.close();
    view.close();
    expect(stream.cursorVisible).toBe(true);
    expect(listeners()).toEqual(before);
  });

  it("is coloured, but not with NO_COLOR", () => {
    for (const [environment, colored] of [
      [{}, true],
      [{ NO_COLOR: "" }, true],
      [{ NO_COLOR: "1" }, false],
    ] as const) {
      const { stream, view } = live(90, environment);
      view.log(1, STEP);
      view.close();
      expect(stream.written.join("").includes("\x1b[32m")).toBe(colored);
    }
  });

  it("shows a run without rewards (SFT) too, and numbers that are not finite", () => {
    const { stream, view } = live(90);
    view.log(3, { "train/loss": Number.NaN, "val/loss": Number.POSITIVE_INFINITY });
    expect(stream.lines()[2]).toBe("loss nan  val loss inf");
    view.close();
  });
});

describe("the end of the process", () => {
  const door = new URL("../../src/monitoring/terminal/terminal.ts", import.meta.url).href;

  /** Runs a program with a live view until it is interrupted. */
  function interrupted(
    program: string,
  ): Promise<{ output: string; code: unknown; signal: unknown }> {
    const script = `
      const { openTerminal } = await import(${JSON.stringify(door)});
      const stream = { isTTY: true, columns: 80, rows: 24, on() {}, off() {},
        write(text) { require("node:fs").writeSync(1, text); return true; } };
      const view = openTerminal({ totalSteps: 9, stream, environment: {} });
      view.log(1, {});
      ${program}
      setInterval(() => {}, 1000);
      console.log("ready");`;
    const child = spawn(
      process.execPath,
      [
        ...["--import", "tsx", "--input-type=module", "-e"],
        `import { createRequire } from "node:module"; const require = createRequire("/");${script}`,
      ],
      {
        cwd: fileURLToPath(new URL("../..", import.meta.url)),
        stdio: ["ignore", "pipe", "ignore"],
      },
    );
    let output = "";
    let sent = false;
    child.stdout.on("data", (piece: Buffer) => {
      output += piece;
      if (!sent && output.includes("ready")) sent = child.kill("SIGINT");
    });
    return new Promise((resolve) =>
      child.on("close", (code, signal) => resolve({ output, code, signal })),
    );
  }

  it("by Ctrl-C gives the cursor back", async () => {
    const { output, signal } = await interrupted("");
    expect(signal).toBe("SIGINT");
    expect(output.endsWith("\x1b[?25h")).toBe(true);
  });

  it.each(["on", "once"])("by Ctrl-C is left to a program that handles it (%s)", async (on) => {
    const { output, code } = await interrupted(
      `process.${on}("SIGINT", () => { view.log(2, {}); setTimeout(() => process.exit(130), 50); });`,
    );
    expect(code).toBe(130);
    expect(output).toContain("step 2 of 9");
    expect(output.endsWith("\x1b[?25h")).toBe(true);
  });

  it("by an error gives the cursor back", async () => {
    const { output, code } = await interrupted(
      `process.on("SIGINT", () => { throw new Error("x"); });`,
    );
    expect(code).toBe(1);
    expect(output.endsWith("\x1b[?25h")).toBe(true);
  });
});

describe("plain lines", () => {
  function lines(environment = {}, isTTY = false): string[] {
    const written: string[] = [];
    const stream = {
      isTTY,
      write: (text: string) => written.push(text) > 0,
      on: () => {},
      off: () => {},
    };
    const log = openTerminal({ totalSteps: 100, title: "x", stream, environment });
    log.doing("generating");
    log.log(9, STEP);
    log.print("saved");
    log.log(10, { ...STEP, "actor/pg_loss": 1.5, "val/success_rate": 0.5 });
    const { "critic/vf_loss": _, ...rest } = STEP;
    log.log(11, rest);
    log.close();
    return written.join("").trimEnd().split("\n");
  }

  it("are one per step, aligned, without control characters", () => {
    expect(lines()).toEqual([
      "step   9/100  reward    4.250  success    42.5%  policy loss  -0.0123  value loss   0.5000  kl   0.0020  entropy    1.250  tokens/s    12.3k  time    10.0s  left   15m10s",
      "saved",
      "step  10/100  reward    4.250  success    42.5%  policy loss    1.500  value loss   0.5000  kl   0.0020  entropy    1.250  tokens/s    12.3k  time    10.0s  left   15m00s  validation    50.0%",
      "step  11/100  reward    4.250  success    42.5%  policy loss  -0.0123  value loss        -  kl   0.0020  entropy    1.250  tokens/s    12.3k  time    10.0s  left   14m50s",
    ]);
  });

  it("are what a terminal that can do nothing gets", () => {
    expect(lines({ TERM: "dumb" }, true)).toEqual(lines());
  });
});

describe("numbers", () => {
  it("are short, whatever they are", () => {
    const formats = [formatNumber, formatCount, formatSeconds];
    fc.assert(
      fc.property(fc.double(), fc.constantFrom(...formats), (value, format) => {
        if (format === formatNumber || Math.abs(value) < 1e8)
          expect(format(value).length).toBeLessThanOrEqual(9);
      }),
    );
    expect([0, -0.5, 12.345, 1e-9, 123456, Number.NaN].map(formatNumber)).toEqual([
      ...["0", "-0.5000", "12.35", "1.0e-9", "123456", "nan"],
    ]);
    expect([0, 59.96, 725, 3599.7, 11_220, 187_200, -1].map(formatSeconds)).toEqual([
      ...["0.0s", "1m00s", "12m05s", "1h00m", "3h07m", "2d04h", "?"],
    ]);
    expect([999, 12_345, 1_234_567].map(formatCount)).toEqual(["999", "12.3k", "1.2M"]);
    expect([0.5, Number.NaN].map(formatPercent)).toEqual(["50.0%", "nan"]);
  });

  it("and texts are cut to their width, wide characters too", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.nat(30), (text, width) => {
        expect(widthOf(renderLine([{ text }], width, false))).toBeLessThanOrEqual(width);
      }),
    );
    expect(renderLine([{ text: "日本語" }], 5, false)).toBe("日本…");
  });
});
