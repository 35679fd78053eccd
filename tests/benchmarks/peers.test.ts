/**
 * @file The parts of `npm run bench -- peers` that need no peer: everybody's work, ratios, options.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ArgumentError } from "../../benchmarks/arguments.ts";
import { PEERS, peersOptions, SECTIONS } from "../../benchmarks/peers/arguments.ts";
import {
  fastest,
  type Measured,
  medianOf,
  sectionReport,
  timesFaster,
} from "../../benchmarks/peers/report.ts";
import { attempting, type Missing } from "../../benchmarks/peers/setting.ts";
import {
  cutter,
  GENERATION_CASES,
  generationWork,
  newTokens,
  textOfLength,
} from "../../benchmarks/peers/workloads.ts";

const IDS = Array.from({ length: 20_000 }, (_, i) => i);

describe("everybody's work", () => {
  it("is the same ids each time it is made, as many as the case says", () => {
    for (const [name, one] of Object.entries(GENERATION_CASES)) {
      const work = generationWork(name, one, cutter(IDS));
      expect(generationWork(name, one, cutter(IDS))).toEqual(work);
      expect(work.observations).toHaveLength(one.sequences);
      for (const turns of work.observations) {
        expect(turns).toHaveLength(one.turns);
        for (const ids of turns) expect(ids).toHaveLength(one.observation);
      }
      expect(newTokens(work)).toBe(one.sequences * one.samples * one.turns * one.reply);
    }
  });

  it("has no piece twice while the text lasts, so that no cache knows a prompt", () => {
    const cut = cutter(IDS);
    const pieces = Array.from({ length: 100 }, () => cut(128));
    expect(new Set(pieces.flat()).size).toBe(100 * 128);
    expect(() => cutter([1, 2])(3)).toThrow("at least 3");
  });

  it("makes texts of exactly so many tokens, or says that it cannot", () => {
    const words = ["sea", "and", "mountain", "of"];
    // A token for each two letters: words are of several tokens.
    const lengthOf = (text: string) =>
      text.split(" ").reduce((sum, word) => sum + Math.ceil(word.length / 2), 0);
    fc.assert(
      fc.property(fc.integer({ min: 4, max: 200 }), (length) => {
        expect(lengthOf(textOfLength(length, words, lengthOf))).toBe(length);
      }),
    );
    expect(() => textOfLength(5, ["four"], (text) => 2 * text.split(" ").length)).toThrow(
      "no text of 5 tokens",
    );
  });
});

function measured(who: string, what: string, seconds: readonly number[]): Measured[] {
  return seconds.map((value, round) => ({
    ...{ who, what, round, seconds: value, peakBytes: 1e9, about: "" },
  }));
}

describe("the report", () => {
  const all = [
    ...measured("ours", "a", [1, 2, 4]),
    ...measured("quick", "a", [2, 6, 8]),
    ...measured("slow", "a", [10, 10, 10]),
    // Failed after its first round.
    ...measured("ours", "b", [1, 1, 1]),
    ...measured("quick", "b", [0.5]),
  ];

  it("takes ratios inside a round, and the median of them", () => {
    expect(timesFaster(all, "ours", "quick", "a")).toBe(2);
    expect(timesFaster(all, "ours", "slow", "a")).toBe(5);
    expect(timesFaster(all, "ours", "quick", "b")).toBe(0.5);
    expect(timesFaster(all, "ours", "slow", "b")).toBeUndefined();
    expect(medianOf(all, "slow", "b")).toBeUndefined();
  });

  it("compares with the fastest of the others", () => {
    expect(fastest(all, ["slow", "quick"], "a")).toBe("quick");
    expect(fastest(all, ["slow"], "b")).toBeUndefined();
  });

  it("says what was missed, and leaves out what was not measured", () => {
    const text = sectionReport(all, {
      title: "seconds",
      cases: ["a", "b", "c"].map((name) => ({ name, about: `case ${name}` })),
      shown: (seconds) => seconds.toFixed(1),
      goal: 1.3,
    });
    expect(text).toMatch(/ours: case a .*2\.00 ×.*1\.3 ×$/m);
    expect(text).toMatch(/ours: case b .*0\.50 ×.*MISSED$/m);
    expect(text).not.toContain("case c");
    expect(text).toContain("1.00 GB");
  });
});

describe("a peer that fails", () => {
  it("is noted once; what is ours fails loudly", async () => {
    const missing: Missing[] = [];
    let tries = 0;
    const attempt = attempting("generation", missing, () => {});
    const fails = () => {
      tries++;
      return Promise.reject(new Error("no wheel"));
    };
    expect(await attempt("vllm", fails)).toBeUndefined();
    expect(await attempt("vllm", fails)).toBeUndefined();
    expect(tries).toBe(1);
    expect(missing).toEqual([{ who: "vllm, generation", why: "no wheel" }]);
    await expect(attempt("ours, bfloat16", fails)).rejects.toThrow("no wheel");
  });
});

describe("options", () => {
  it("are all sections and peers unless some are named", () => {
    expect(peersOptions([])).toEqual({
      ...{ sections: SECTIONS, peers: PEERS, cases: undefined },
      ...{ rounds: 3, threads: 2, iterations: 2 },
    });
    expect(
      peersOptions(["--only", "grpo,generation", "--peers=trl,ours", "--rounds", "1"]),
    ).toMatchObject({ sections: ["generation", "grpo"], peers: ["ours", "trl"], rounds: 1 });
    expect(peersOptions(["--cases", "turns,groups"]).cases).toEqual(["groups", "turns"]);
  });

  it("that there are not are refused, with what there is", () => {
    for (const words of [
      ["--peers", "nobody"],
      ["--only", "eating"],
      ["--cases", "x"],
    ])
      expect(() => peersOptions(words)).toThrow(/there is no .* there are /);
    for (const words of [["--rounds", "0"], ["--rounds", "many"], ["--strange"], ["word"]])
      expect(() => peersOptions(words)).toThrow(ArgumentError);
  });
});
