/**
 * @file Golden pages of WebShop: `{ products, itemPages, goals, searches }`, recovered from transcripts of
 * the original, and the transcripts themselves (a folder of parquet files). The products go into files
 * of the original's format, which our shop opens; then every transcript is played, and every page must
 * be equal, piece by piece.
 *
 * The file lacks descriptions and bullets, and has 469 of the 1000 products that were searched. So the
 * transcripts' searches give their own results, and how far ours agree is only reported.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { fileShop } from "../../src/environments/webshop/data/file-shop.ts";
import { ShopEnvironment } from "../../src/environments/webshop/environment.ts";
import type { Goal } from "../../src/environments/webshop/goal.ts";
import { nounsOf } from "../../src/environments/webshop/reward/nouns.ts";
import { typeReward } from "../../src/environments/webshop/reward/type.ts";
import type { Shop } from "../../src/environments/webshop/shop.ts";
import type { CaseResult } from "./main.ts";

export interface GoldenPages {
  readonly products: Readonly<Record<string, { readonly title: string; readonly price: string }>>;
  /** By title: names and values of options in one list. */
  readonly itemPages: Readonly<Record<string, { readonly opts: readonly string[] }>>;
  /** Instructions by id. */
  readonly goals: Readonly<Record<string, string>>;
  /** Query, heading and the products of the first page. */
  readonly searches: readonly (readonly [string, string, readonly string[]])[];
}

interface Transcript {
  readonly item_id: string;
  readonly conversations: readonly { readonly from: string; readonly value: string }[];
}

const SEPARATOR = " [SEP] ";
/** What options are called in the transcripts' goals; everything else in a list of options is a value. */
const OPTION_NAMES = new Set(
  ["size", "color", "fit type", "item shape", "scent", "flavor name", "flavor", "style"], //
);

export async function checkWebshop(file: unknown, folder = ""): Promise<CaseResult[]> {
  const golden = file as GoldenPages;
  if (!golden?.products || !golden.searches) throw new TypeError("expected products and searches");
  const transcripts = await readTranscripts(folder);
  return withShop(golden, (shop) => {
    const kinds = new Map<string, number>();
    const cases = transcripts.map((transcript, number) => ({
      name: `${number} ${transcript.item_id}`,
      problems: replay(transcript, shop, kinds),
    }));
    const counts = [...kinds].map(([kind, count]) => `${count} ${kind}`).join(", ");
    const search = searchOverlap(golden, shop);
    return [
      ...cases,
      { name: "pages", problems: [], remark: counts },
      { name: "search", problems: [], remark: describeOverlap(search) },
      { name: "nouns", problems: [], remark: describeNouns(golden, shop) },
    ];
  });
}

export async function readTranscripts(folder: string): Promise<Transcript[]> {
  const names = readdirSync(folder).filter((name) => name.endsWith(".parquet"));
  if (names.length === 0) throw new TypeError(`${folder} has no .parquet files`);
  const files = await Promise.all(
    names.sort().map(async (name) => {
      const buffer = await asyncBufferFromFile(join(folder, name));
      return (await parquetReadObjects({ file: buffer })) as unknown as Transcript[];
    }),
  );
  return files.flat();
}

/** Runs `use` with a shop of the golden products, from files of the original's format. */
export function withShop<Result>(golden: GoldenPages, use: (shop: Shop) => Result): Result {
  const folder = mkdtempSync(join(tmpdir(), "webshop-"));
  try {
    const records = Object.entries(golden.products).map(([asin, { title, price }]) => ({
      ...{ asin, name: title, full_description: "", small_description: [], images: [] },
      pricing: price.replace(" to ", ""),
      customization_options: optionsOf(golden.itemPages[title]?.opts ?? []),
      ...{ category: "", query: "", product_category: "" },
    }));
    const first = records[0]!.asin;
    const annotation = { attributes: ["a"], instruction: "x", instruction_attributes: ["a"] };
    writeFileSync(join(folder, "items_shuffle_1000.json"), JSON.stringify(records));
    writeFileSync(join(folder, "items_ins_v2_1000.json"), JSON.stringify({ [first]: annotation }));
    const options = { human: false, small: undefined, products: undefined, valid: 0, seed: 0 };
    const shop = fileShop(folder, { ...options, cache: "off" });
    try {
      return use(shop);
    } finally {
      shop.close?.();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function optionsOf(list: readonly string[]): Record<string, { value: string }[]> {
  const options: Record<string, { value: string }[]> = {};
  let values: { value: string }[] = [];
  for (const text of list) {
    if (OPTION_NAMES.has(text)) {
      values = [];
      options[text] = values;
    } else values.push({ value: text.replaceAll(" | ", "/") });
  }
  return options;
}

/** Plays the transcript's actions; what its pages are that ours are not. */
function replay({ conversations }: Transcript, shop: Shop, kinds: Map<string, number>): string[] {
  // The first two messages are the rules and "Ok.".
  const turns = conversations.slice(2);
  const pages = turns.filter(({ from }) => from === "human").map(({ value }) => value);
  const instruction = pages[0]?.split(SEPARATOR)[2] ?? "";
  const environment = new ShopEnvironment({
    ...{ name: "webshop", mode: "text", showAttributes: false, winReward: 10 },
    ...{ previousActions: 0, previousObservations: 0 },
    shop: { ...shop, goals: onlyGoal(shop, instruction), catalogue: searchedBy(shop, pages) },
  });
  const problems: string[] = [];
  let ours = environment.reset({ environment: "webshop", split: "test", id: "0" }).text;
  for (const { from, value } of turns) {
    if (from === "human") {
      const kind = kindOf(value);
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      problems.push(...differences(ours, value));
    } else {
      const action = /Action:\s*(.*?)\s*$/s.exec(value)?.[1] ?? "";
      ours = environment.step(action).observation.text;
    }
  }
  return problems;
}

/** The results of the transcript's pages; the original found 50, of which a page shows ten. */
function searchedBy(shop: Shop, pages: readonly string[]): Shop["catalogue"] {
  const { catalogue } = shop;
  const shown = pages
    .filter((page) => kindOf(page) === "results pages")
    .flatMap((page) => {
      const pieces = page.split(SEPARATOR);
      return pieces.flatMap((piece) => catalogue.find(piece) ?? []);
    });
  const others = Array.from({ length: catalogue.size }, (_, i) => i);
  const hits = [...new Set([...shown, ...others])].slice(0, 50);
  return { ...catalogue, search: () => hits };
}

function onlyGoal(shop: Shop, instruction: string): Shop["goals"] {
  const goal: Goal = { ...shop.goals.find("0")!, instruction };
  return { ...shop.goals, find: () => goal };
}

function kindOf(page: string): string {
  if (page.startsWith("WebShop")) return "index pages";
  return /\[SEP\] Page \d+ \(Total/.test(page) ? "results pages" : "item pages";
}

function differences(ours: string, theirs: string): string[] {
  const [a, b] = [ours.split(SEPARATOR), theirs.split(SEPARATOR)];
  const longer = a.length > b.length ? a : b;
  const at = longer.findIndex((_, i) => a[i] !== b[i]);
  if (at < 0) return [];
  return [`piece ${at}: ours ${JSON.stringify(a[at])}, theirs ${JSON.stringify(b[at])}`];
}

export interface Overlap {
  readonly searches: number;
  /** The mean share of the given first page that is on ours. */
  readonly onFirstPage: number;
  /** The mean share of it that is among our 50. */
  readonly found: number;
  /** How often the given first product is our first. */
  readonly sameFirst: number;
  /** The same for a page of products drawn at random. */
  readonly byChance: number;
}

/** Our search over the golden products, which have titles and some options only. */
export function searchOverlap({ searches }: GoldenPages, { catalogue }: Shop): Overlap {
  const totals = { onFirstPage: 0, found: 0, sameFirst: 0 };
  for (const [query, , given] of searches) {
    const ours = catalogue.search(query.toLowerCase(), 50);
    const wanted = given.flatMap((asin) => catalogue.find(asin) ?? []);
    const share = (hits: readonly number[]): number =>
      wanted.filter((hit) => hits.includes(hit)).length / wanted.length;
    totals.onFirstPage += share(ours.slice(0, 10));
    totals.found += share(ours);
    if (ours[0] === wanted[0]) totals.sameFirst++;
  }
  const { length } = searches;
  return {
    searches: length,
    onFirstPage: totals.onFirstPage / length,
    found: totals.found / length,
    sameFirst: totals.sameFirst / length,
    byChance: 10 / catalogue.size,
  };
}

function describeOverlap({ searches, ...shares }: Overlap): string {
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  return (
    `${searches} searches: ${percent(shares.onFirstPage)} of the given first pages are on ours ` +
    `(by chance ${percent(shares.byChance)}), ${percent(shares.found)} among our 50, ` +
    `${percent(shares.sameFirst)} have the same first product`
  );
}

/**
 * How much hangs on the tagger: the factor of the reward for buying any product of a first page in place
 * of its first one, by our nouns and by the crudest tagger there is, which takes every word for a noun.
 */
function describeNouns({ searches }: GoldenPages, { catalogue }: Shop): string {
  const words = (title: string): string[] =>
    title.toLowerCase().match(/[\p{L}][\p{L}\p{N}]*/gu) ?? [];
  // The file knows neither queries nor categories, so only the titles decide: the hardest case.
  const stranger = { query: "other", productCategory: "" };
  const goal = { ...shopGoal, query: "", productCategory: "" };
  let [pairs, equal, certain] = [0, 0, 0];
  for (const [, , given] of searches) {
    const [wanted, ...others] = given.flatMap((asin) => catalogue.find(asin) ?? []);
    if (wanted === undefined) continue;
    const wish = { ...goal, name: catalogue.product(wanted).title };
    for (const other of others) {
      const bought = { ...catalogue.product(other), ...stranger };
      const [ours, all] = [typeReward(bought, wish, nounsOf), typeReward(bought, wish, words)];
      pairs++;
      if (ours.factor === all.factor) equal++;
      // Of the right kind the factor is 1 whenever a tenth of the nouns agrees.
      const related = { ...bought, query: "" };
      const kind = [nounsOf, words].map((nouns) => typeReward(related, wish, nouns).factor);
      if (kind[0] === kind[1]) certain++;
    }
  }
  const percent = (count: number): string => `${((100 * count) / pairs).toFixed(1)} %`;
  return (
    `${pairs} pairs of titles: the factor by nouns equals that by all words in ${percent(equal)}, ` +
    `and in ${percent(certain)} where the query fits`
  );
}

const shopGoal: Goal = {
  ...{ asin: "", category: "", query: "", name: "", productCategory: "", instruction: "" },
  ...{ attributes: [], priceUpper: 0, options: { kind: "values", values: [] } },
};
