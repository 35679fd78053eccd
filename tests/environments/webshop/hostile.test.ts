/**
 * @file Actions of any kind and length, unknown tasks, steps at the wrong time: an answer or a clear
 * error, in time that grows with the input.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  EnvironmentError,
  type LocalEnvironment,
  openWorld,
  seededRandom,
  type World,
} from "../../../src/environments/index.ts";
import { anyText } from "../alfworld/material.ts";

const world = (await openWorld("webshop", {
  data: "builtin",
  products: 300,
})) as World<LocalEnvironment>;
const tasks = await world.tasks("test");
const begun = (): LocalEnvironment => {
  const environment = world.environment();
  environment.reset(tasks.task(0));
  return environment;
};

describe("an action", () => {
  it("may be any text, on any page, in any mode", async () => {
    for (const mode of ["text", "text_rich", "html", "url"]) {
      const other = (await openWorld("webshop", {
        ...{ data: "builtin", products: 50, mode, showAttributes: true, previousActions: 2 },
      })) as World<LocalEnvironment>;
      const environment = other.environment();
      const random = seededRandom("hostile", mode);
      const set = await other.tasks("test");
      for (let round = 0; round < 40; round++) {
        let { admissible } = environment.reset(set.task(round));
        for (let step = 0; step < 25; step++) {
          const rubbish = anyText(random, 40);
          const action = random.pick([
            ...[rubbish, `search[${rubbish}]`, `click[${rubbish}]`, "search[<r>]", "search[<q> x]"],
            ...(admissible!.length > 0 ? [random.pick(admissible!), random.pick(admissible!)] : []),
          ]);
          const result = environment.step(action);
          expect(typeof result.observation.text).toBe("string");
          expect(result.score).toBeGreaterThanOrEqual(0);
          expect(result.score).toBeLessThanOrEqual(1);
          ({ admissible } = result.observation);
        }
      }
    }
  });

  it("in the list is always an admissible one", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 30 }), (choices) => {
        const environment = begun();
        let observation = environment.step("search[lamp shoes]").observation;
        for (const choice of choices) {
          const list = observation.admissible!;
          if (list.length === 0) break;
          const result = environment.step(list[choice % list.length]!);
          expect(result.admissible).toBe(true);
          observation = result.observation;
        }
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    ["brackets", "[".repeat(2_000_000)],
    ["closing brackets", `search[${"]".repeat(2_000_000)}`],
    ["a long search", `search[${"lamp ".repeat(400_000)}]`],
    ["many words", `search[${Array.from({ length: 200_000 }, (_, i) => `w${i}`).join(" ")}]`],
    ["one long word", `search[${"a".repeat(2_000_000)}]`],
    ["a long click", `click[${"x".repeat(2_000_000)}]`],
    ["spaces", `search[${" ".repeat(1_000_000)}]`],
    ["marks", `search[a${"\u0301".repeat(500_000)}]`],
  ])("of %s is answered in a second or so", (_, action) => {
    const environment = begun();
    const start = performance.now();
    const { observation } = environment.step(action);
    expect(observation.text.length + observation.admissible!.length).toBeGreaterThan(0);
    // Linear time takes well below this even on a busy machine; quadratic time takes minutes.
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});

describe("the wrong thing at the wrong time", () => {
  it("is said clearly", () => {
    expect(() => world.environment().step("x")).toThrow(/call reset\(task\) before step/);
    const wrong = [
      "",
      "test/500",
      "test/-1",
      "test/00",
      "other/1",
      "__proto__",
      "1",
      "x".repeat(1e6),
    ];
    for (const id of wrong) {
      const reset = () => world.environment().reset({ environment: "webshop", split: "test", id });
      expect(reset).toThrow(EnvironmentError);
      expect(reset).toThrow(/there is no goal .*ids are train\/0 to train\/9999/);
    }
    expect(() => world.tasks("valid_seen")).toThrow(/there is no split "valid_seen"/);
    expect(() => tasks.task(500)).toThrow(/has no task 500/);
  });

  it.each([
    [{ mode: "video" }, /one of text, text_rich, html, url/],
    [{ products: 0 }, /at least 1/],
    [{ data: "/nowhere/at all" }, /there is nothing at \/nowhere/],
    [{ seed: -1 }, /at least 0/],
  ])("%j is refused", async (options, message) => {
    await expect(openWorld("webshop", options)).rejects.toThrow(message);
  });
});
