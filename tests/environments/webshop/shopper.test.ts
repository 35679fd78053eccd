/**
 * @file The scripted shoppers: what they buy, what they think, and how they go on after others.
 */
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../src/environments/random.ts";
import { readPage } from "../../../src/environments/webshop/expert/reading.ts";
import { wishesOf } from "../../../src/environments/webshop/expert/wishes.ts";
import { steps, withShopWorld } from "./material.ts";
import { openShop as open, shopping } from "./shopping.ts";

describe("the shopper", () => {
  it("fulfils at least 98 of 100 goals of the test within 15 steps", async () => {
    const { won, score } = await shopping(await open(), "test", 500);
    expect(won).toBeGreaterThanOrEqual(490);
    expect(score).toBeGreaterThan(0.98);
  });

  it("shops in the original's files too", () =>
    withShopWorld({}, async (world) => {
      const { won } = await shopping(world, "test", 6);
      expect(won).toBeGreaterThanOrEqual(4);
    }));

  it("reads instructions as people do", () => {
    expect(
      wishesOf(
        "Find me x with y with color: a, b, and size: 9.5, and price lower than 70.00 dollars",
      ),
    ).toEqual({
      query: "Find me x with y a, b 9.5",
      terms: new Set(["x", "y"]),
      options: [
        ["color", "a, b"],
        ["size", "9.5"],
      ],
      priceLimit: 70,
    });
    expect(wishesOf("i want [something] <nice>")).toMatchObject({
      ...{ query: "i want something nice", options: [], priceLimit: Infinity },
    });
    expect(wishesOf("").query).toBe("anything");
  });

  it("does not take the instruction above a page for what the page says", async () => {
    const world = await open();
    const environment = world.environment();
    const { instruction } = environment.reset((await world.tasks("test")).task(0));
    const { observation } = steps(environment, "search[shoes]", "click[next >]");
    const asin = observation.admissible!.at(-1)!;
    const features = steps(environment, asin, "click[features]").observation;
    expect(features.text).toContain(instruction);
    expect(readPage(features)).toEqual({
      kind: "other",
      text: expect.stringMatching(/^What else you get/),
    });
  });

  it("says something to any page", async () => {
    const world = await open({ products: 5 });
    const expert = world.expert!(0);
    for (const text of ["", "x", "WebShop", "Page 1 (Total results: 0)", "[SEP]", "Price: $"])
      for (const admissible of [undefined, [], ["click[search]"], ["click[buy now]"]])
        expect(typeof expert.act({ text, anchor: text, info: {}, admissible })).toBe("string");
  });

  it("is only there where it can read", async () => {
    expect((await open({ mode: "html" })).expert).toBeUndefined();
    expect((await open({ previousActions: 1 })).expert).toBeUndefined();
  });

  it("relies on the search where it is trusting: five steps", async () => {
    const world = await open({ expert: "trusting", products: 100 });
    const { won, turns } = await shopping(world, "test", 200);
    expect(won).toBeGreaterThanOrEqual(196);
    expect(turns).toBeLessThan(5.2);
  });

  it("thinks of what is still to be chosen", async () => {
    const world = await open({ expert: "trusting", products: 100 });
    const environment = world.environment();
    const expert = world.expert!(0);
    let observation = environment.reset((await world.tasks("train")).task(0));
    const wishes = wishesOf(observation.instruction!).options.map(([, value]) => value);
    const said: string[] = [];
    for (let done = false; !done; ) {
      const action = expert.act(observation);
      said.push(`${expert.thought!()} | ${action}`.replace(/S\d\w+/g, "S…"));
      ({ observation, done } = environment.step(action));
    }
    expect(said.slice(1)).toEqual([
      `need ${wishes.join(", ")}: Next > [SEP] S… | click[S…]`,
      `need ${wishes.join(", ")} | click[${wishes[0]}]`,
      `need ${wishes[1]} | click[${wishes[1]}]`,
      "need nothing | click[buy now]",
    ]);
  });

  it.each(["thorough", "trusting"])("goes on after others, %s", async (expert) => {
    const world = await open({ expert, products: 100 });
    const { won } = await shopping(world, "test", 100, (observation, i, step) => {
      const random = seededRandom("others", i, step);
      const clicks = observation.admissible!.filter((action) => !/search|buy now/.test(action));
      return step < 5 && clicks.length > 0 && random.chance(0.4) ? random.pick(clicks) : undefined;
    });
    expect(won).toBeGreaterThanOrEqual(90);
  });
});
