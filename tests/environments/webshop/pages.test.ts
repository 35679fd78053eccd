/**
 * @file Pages and the ways between them, in all modes, in a shop of three products.
 */
import { describe, expect, it } from "vitest";
import { type LocalEnvironment, openWorld } from "../../../src/environments/index.ts";
import { parseAction } from "../../../src/environments/webshop/action.ts";
import { FILES, PRODUCTS, steps, withShopWorld } from "./material.ts";

const LAMP = "B000000001";
const HEAD = "Instruction: [SEP] ";

/** Runs `use` in an episode whose goal is about the lamp. */
const inEpisode = <Result>(
  options: Record<string, unknown>,
  use: (episode: { environment: LocalEnvironment; instruction: string; text: string }) => Result,
): Promise<Result> =>
  withShopWorld(options, async (world) => {
    const tasks = await world.tasks("test");
    const environment = world.environment();
    for (let i = 0; i < tasks.length; i++) {
      const observation = environment.reset(tasks.task(i));
      if (observation.instruction!.includes("lamps"))
        return use({ environment, instruction: observation.instruction!, text: observation.text });
    }
    throw new Error("no goal about lamps");
  });

describe("text", () => {
  it("is the pages' pieces, from the search to the purchase", () =>
    inEpisode({ showAttributes: true }, ({ environment, instruction, text }) => {
      expect(text).toBe(`WebShop [SEP] ${HEAD}${instruction} [SEP] Search`);
      const results = steps(environment, "search[Lamp]");
      expect(results.observation.text).toBe(
        `${HEAD}${instruction} [SEP] Back to Search [SEP] Page 1 (Total results: 2) [SEP] Next > [SEP] ` +
          "B000000003 [SEP] Lamp Bulb, 2 Pack [SEP] $4.5 [SEP] " +
          "B000000001 [SEP] Walnut Desk Lamp with Dimmer [SEP] $27.0 to $1049.5",
      );
      const head = `${HEAD}${instruction} [SEP] Back to Search [SEP] < Prev`;
      expect(steps(environment, "click[next >]").observation.text).toBe(
        `${HEAD}${instruction} [SEP] Back to Search [SEP] Page 2 (Total results: 2) [SEP] < Prev [SEP] Next >`,
      );
      const item = steps(environment, "click[< Prev]", `click[${LAMP}]`);
      expect(item.observation.text).toBe(
        `${head} [SEP] size [SEP] small [SEP] 1 | 2 large [SEP] color [SEP] red [SEP] dark blue [SEP] ` +
          "Walnut Desk Lamp with Dimmer [SEP] Price: $27.0 to $1049.5 [SEP] Rating: N.A. [SEP] " +
          "Description [SEP] Features [SEP] Reviews [SEP] Attributes [SEP] Buy Now",
      );
      const sub = (name: string): string =>
        steps(environment, `click[${name}]`).observation.text.slice(head.length);
      expect(sub("description")).toBe(" [SEP] A lamp for reading.");
      steps(environment, "click[< prev]");
      // An empty bullet is an empty piece.
      expect(sub("features")).toBe(" [SEP] dims to one percent [SEP]  [SEP] linen shade");
      steps(environment, "click[< prev]");
      expect(sub("reviews")).toBe("");
      steps(environment, "click[< prev]");
      expect(sub("attributes")).toBe(
        " [SEP] dimmable [SEP] linen shade [SEP] home [SEP] desk lamps [SEP] Home › Lighting › Lamps",
      );
      const done = steps(
        environment,
        "click[< prev]",
        "click[small]",
        "click[Red]",
        "click[buy now]",
      );
      expect(done.observation.text).toMatch(
        /^Thank you for shopping with us! \[SEP\] Your code: \[SEP\] None \[SEP\] \(Paste it/,
      );
      expect(done.observation.text).toContain(
        '[SEP] options [SEP] {"color": "red", "size": "small"} [SEP] attrs',
      );
      expect(done.observation.text).toMatch(/max 1\.0\) \[SEP\] [01]\.\d+ \[SEP\] Reward Details/);
      expect(done.done).toBe(true);
    }));

  it("begins with earlier observations and actions if asked", () =>
    inEpisode({ previousObservations: 1, previousActions: 2 }, ({ environment, text }) => {
      const first = steps(environment, "dance").observation.text;
      expect(first).toBe(`${text} [SEP] dance [SEP] ${text}`);
      const second = steps(environment, "sing").observation.text;
      expect(second).toBe(`dance [SEP] ${text} [SEP] sing [SEP] ${text}`);
      const copy = environment.clone();
      expect(steps(copy, "x").observation.text).toBe(steps(environment, "x").observation.text);
    }));
});

describe("the other modes", () => {
  it("text_rich marks buttons and what was clicked", () =>
    inEpisode({ mode: "text_rich" }, ({ environment, instruction, text }) => {
      expect(text).toBe(`WebShop\nInstruction: \n${instruction}\n[button] Search [button_]\n`);
      const results = steps(environment, "search[lamp]").observation.text;
      expect(results).toContain(
        "\n\n[button] B000000001 [button_]\nWalnut Desk Lamp with Dimmer\n",
      );
      const item = steps(environment, `click[${LAMP}]`, "click[small]", "click[dark blue]");
      const { text: page } = item.observation;
      expect(page).toMatch(
        /^You have clicked dark blue\.\nYou have clicked small\.\nInstruction:\n/,
      );
      expect(page).toContain(
        "size\n  [clicked button] small [clicked button_]\n  [button] 1 | 2 large",
      );
      // A product that was opened is marked until the search page is seen again.
      const back = steps(environment, "click[< prev]").observation.text;
      expect(back).toContain("\n[clicked button] B000000001 [clicked button_]\n");
      expect(back).toContain("\n[button] B000000003 [button_]\n");
      const again = steps(environment, "click[back to search]", "search[lamp]").observation.text;
      expect(again).toContain("\n[button] B000000001 [button_]\n");
    }));

  it("url is the address", () =>
    inEpisode({ mode: "url" }, ({ environment, text }) => {
      expect(text).toMatch(/^http:\/\/127\.0\.0\.1:3000\/\d$/);
      const [, session] = /(\d)$/.exec(text)!;
      const at = (...actions: string[]): string => steps(environment, ...actions).observation.text;
      const base = "http://127.0.0.1:3000";
      expect(at("search[Desk  lamp]")).toBe(`${base}/search_results/${session}/desk++lamp/1`);
      const item = `${session}/${LAMP}/desk++lamp/1`;
      expect(at(`click[${LAMP}]`)).toBe(`${base}/item_page/${item}/{}`);
      expect(at("click[small]", "click[red]")).toBe(
        `${base}/item_page/${item}/{"size": "small", "color": "red"}`,
      );
      expect(at("click[features]")).toBe(
        `${base}/item_sub_page/${item}/Features/{'size': 'small', 'color': 'red'}`,
      );
      expect(at("click[< prev]", "click[1 | 2 large]", "click[buy now]")).toBe(
        `${base}/done/${session}/${LAMP}/{'size': '1 | 2 large', 'color': 'red'}`,
      );
    }));

  it("html has what programs look for, and escapes the rest", async () => {
    const products = [{ ...PRODUCTS[0]!, name: `Lamp <b>"x"</b> & 'y'` }, ...PRODUCTS.slice(1)];
    await withShopWorld(
      { mode: "html" },
      async (world) => {
        const environment = world.environment();
        const first = environment.reset((await world.tasks("test")).task(0));
        expect(first.text).toContain('<input id="search_input"');
        expect(first.text).toContain('<div id="instruction-text"><h4>Instruction: <br>');
        const results = steps(environment, "search[lamp]").observation.text;
        expect(results).toContain('<a class="product-link" href="http://127.0.0.1:3000/item_page/');
        expect(results).toContain("Lamp &lt;b&gt;&#34;x&#34;&lt;/b&gt; &amp; &#39;y&#39;");
        expect(results).not.toContain("<b>");
        const item = steps(environment, `click[${LAMP}]`).observation.text;
        expect(item).toContain('name="size" value="1 | 2 large"><label');
        expect(item).toContain('<button type="submit" class="btn">Buy Now</button>');
        const features = steps(environment, "click[features]").observation.text;
        expect(features).toContain('<p class="product-info"> linen shade</p>');
        const done = steps(environment, "click[< prev]", "click[buy now]").observation.text;
        expect(done).toContain("<p>Thank you for shopping with us!</p>");
      },
      { ...FILES, "items_shuffle_1000.json": products },
    );
  });
});

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

describe("an observation", () => {
  it("has the anchor that the documents' trainers show", () =>
    inEpisode({ mode: "url" }, ({ environment }) => {
      expect(steps(environment, "search[chair]").observation.anchor).toBe(
        "'Back to Search' [SEP] 'Page 1 (Total results: 1)' [SEP] 'Next >' [SEP] " +
          "'B000000002' [SEP] 'Plain Chair' [SEP] '$100.0'",
      );
      const { anchor } = steps(environment, "click[b000000002]", "click[buy now]").observation;
      expect(anchor).toMatch(/^Thank you for shopping with us! \[SEP\]/);
    }));

  it("stays as it was when the environment moves on, and copies go their own ways", () =>
    inEpisode({}, ({ environment }) => {
      const results = steps(environment, "search[lamp]").observation;
      const copy = environment.clone();
      steps(environment, `click[${LAMP}]`, "click[buy now]");
      expect(results.text).toContain("Page 1");
      expect(results.admissible).toContain("click[next >]");
      expect(steps(copy, "click[next >]").observation.text).toContain("Page 2");
    }));

  it("says at the end what the score is made of, and the end repeats itself", () =>
    inEpisode({}, ({ environment }) => {
      const end = steps(environment, "search[chair]", "click[b000000002]", "click[buy now]");
      expect(end).toMatchObject({ done: true, won: false, reward: 0, admissible: true });
      expect(end.observation.info).toMatchObject({ task_score: end.score, r_att: 0, r_option: 0 });
      const after = steps(environment, "search[lamp]");
      expect(after).toEqual({ ...end, reward: 0 });
    }));
});

it("is known by the documents' names", async () => {
  for (const name of ["Webshop", "WEBSHOP", "WebAgentTextEnv"])
    expect((await openWorld(name, { products: 20 })).name).toBe("webshop");
});
