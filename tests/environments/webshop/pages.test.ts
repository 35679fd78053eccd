/**
 * @file Pages in all modes, from the search to the purchase, in a shop of three products.
 */
import { describe, expect, it } from "vitest";
import { openWorld } from "../../../src/environments/index.ts";
import { FILES, inEpisode, PRODUCTS, steps, withShopWorld } from "./material.ts";

const LAMP = "B000000001";
const HEAD = "Instruction: [SEP] ";

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
