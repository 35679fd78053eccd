/**
 * @file What actions do, and which there are.
 */
import { describe, expect, it } from "vitest";
import { parseAction } from "../../../src/environments/webshop/action.ts";
import { FILES, inEpisode, PRODUCTS, steps, withShopWorld } from "./material.ts";

const LAMP = "B000000001";

describe("actions", () => {
  it.each([
    ["search[red lamp]", "search", "red lamp"],
    ["click[Buy Now] and more", "click", "buy now"],
    ["click[a]b]", "click", "a]b"],
    ["search[a[b]c]", "search[a", "b]c"],
    ["search[[x]]", "search[", "x]"],
    [" click[x]", " click", "x"],
    ["search[]", "search[]", undefined],
    ["[x]", "[x]", undefined],
    ["search", "search", undefined],
    ["search[x", "search[x", undefined],
    ["x\nsearch[y]", "x\nsearch[y]", undefined],
    ["search[x]\nclick[y]", "search", "x"],
    ["", "", undefined],
  ])("%j is read as the original's pattern reads it", (action, name, argument) => {
    expect(parseAction(action)).toEqual({ name, argument });
    // The pattern itself, which takes very long on a long row of brackets.
    const match = /^([^\n]+)\[([^\n]+)\]/.exec(action);
    expect([name, argument]).toEqual(
      match ? [match[1], match[2]!.toLowerCase()] : [action, undefined],
    );
  });

  it("are listed as the original lists them", () =>
    inEpisode({}, ({ environment }) => {
      const list = (...actions: string[]) => steps(environment, ...actions).observation.admissible;
      expect(list("x")).toEqual(["search[<your query>]", "click[search]"]);
      expect(list("search[lamp]")).toEqual(
        ["back to search", "next >", "b000000003", "b000000001"].map((name) => `click[${name}]`),
      );
      expect(list("click[next >]")).toEqual(
        ["back to search", "< prev", "next >"].map((name) => `click[${name}]`),
      );
      expect(list("click[< prev]", `click[${LAMP}]`)).toEqual(
        [
          ...["back to search", "< prev", "description", "features", "reviews", "buy now"],
          ...["small", "1 | 2 large", "red", "dark blue"],
        ].map((name) => `click[${name}]`),
      );
      expect(list("click[reviews]")).toEqual(["click[back to search]", "click[< prev]"]);
      expect(list("click[< prev]", "click[buy now]")).toEqual([]);
    }));

  it("that are not understood change nothing; a search is understood everywhere", () =>
    inEpisode({}, ({ environment, text }) => {
      for (const action of ["dance", "click[search]", "click[red]", "search[]", "Search[lamp]"]) {
        const result = steps(environment, action);
        expect(result.observation.text).toBe(text);
        expect(result.admissible).toBe(action === "click[search]");
      }
      expect(steps(environment, "search[lamp]").admissible).toBe(true);
      const again = steps(environment, `click[${LAMP}]`, "search[chair]");
      expect(again.admissible).toBe(false);
      expect(again.observation.text).toContain("Plain Chair");
    }));

  it("lead where the address says, as in the original", () =>
    inEpisode({ mode: "url" }, ({ environment }) => {
      // The words of the search are in the address, and the original looks for names in it.
      const at = (...actions: string[]): string => steps(environment, ...actions).observation.text;
      at("search[lamp item_page]", `click[${LAMP}]`, "click[features]");
      expect(at("click[< prev]")).toMatch(/\/search_results\/.*\/1$/);
      at("search[lamp search_results]", `click[${LAMP}]`);
      expect(at("click[< prev]")).toMatch(/\/search_results\/.*\/0$/);
      expect(at("click[next >]")).toMatch(/\/search_results\/.*\/1$/);
    }));

  it("choose options until the results are seen again", () =>
    inEpisode({ mode: "url" }, ({ environment }) => {
      const at = (...actions: string[]): string => steps(environment, ...actions).observation.text;
      at("search[lamp]", `click[${LAMP}]`, "click[red]", "click[small]");
      // Another value of the same option takes its place.
      expect(at("click[dark blue]")).toMatch(/\{"color": "dark blue", "size": "small"\}$/);
      expect(at("click[description]", "click[< prev]")).toMatch(/"color": "dark blue"/);
      expect(at("click[< prev]", `click[${LAMP}]`)).toMatch(/\{\}$/);
    }));

  it("search for anything, a category, a query or an attribute", () =>
    inEpisode({}, ({ environment }) => {
      const total = (query: string): string =>
        /Total results: (\d+)/.exec(steps(environment, `search[${query}]`).observation.text)![1]!;
      const totals = ["<r>", "<c> home", "<c>", "<q> desk lamps", "<q> x", "<a> linen shade"].map(
        total,
      );
      expect(totals).toEqual(["3", "3", "0", "1", "0", "1"]);
    }));
});

describe("an option", () => {
  const withOptions = (
    customization_options: unknown,
    use: (page: (...a: string[]) => string) => void,
  ) =>
    withShopWorld(
      { mode: "url" },
      async (world) => {
        const environment = world.environment();
        environment.reset((await world.tasks("test")).task(0));
        steps(environment, "search[walnut]", `click[${LAMP}]`);
        use((...actions) => steps(environment, ...actions).observation.text);
      },
      {
        ...FILES,
        "items_shuffle_1000.json": [
          { ...PRODUCTS[0]!, customization_options },
          ...PRODUCTS.slice(1),
        ],
      },
    );

  it("with the name of a button does what the button does", () =>
    withOptions(
      { x: [{ value: "Attributes" }, { value: "Next >" }, { value: "Search" }] },
      (page) => {
        expect(page("click[attributes]")).toContain("/Attributes/{}");
        expect(page("click[< prev]", "click[search]")).toMatch(/item_page.*\{\}$/);
        expect(page("click[next >]")).toMatch(/item_page.*\{"x": "next >"\}$/);
      },
    ));

  it("whose value two options have is the later one's", () =>
    withOptions({ a: [{ value: "one" }], b: [{ value: "one" }] }, (page) => {
      expect(page("click[one]")).toMatch(/\{"b": "one"\}$/);
    }));
});
