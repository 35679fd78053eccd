/**
 * @file A shop of the original's files.
 */
import { EnvironmentError } from "../../environment.ts";
import { pythonRandom } from "../python-random.ts";
import type { Shop } from "../shop.ts";
import { openFileCatalogue } from "./file-catalogue.ts";
import { type Goals, humanGoals, syntheticGoals } from "./file-goals.ts";
import { dataFiles, naming, readAnnotations, readHumanInstructions } from "./folder.ts";

/** As OpenManus-RL and verl-agent have it: the first goals are for testing. */
const TEST_GOALS = 500;

export interface FileShopOptions {
  readonly human: boolean;
  readonly small: boolean | undefined;
  /** Only so many products. Default: all. */
  readonly products: number | undefined;
  /** Goals after those of the test that are set aside as the split "valid". */
  readonly valid: number;
  readonly seed: number;
  readonly cache: string | undefined;
}

export function fileShop(path: string, options: FileShopOptions): Shop {
  const { human, small, products = Infinity, valid, seed, cache } = options;
  const files = dataFiles(path, small);
  const missing =
    human && files.human === undefined
      ? "items_human_ins.json"
      : files.annotations === undefined && "items_ins_v2.json (or items_ins_v2_1000.json)";
  if (missing)
    throw new EnvironmentError(
      "webshop",
      `${path} lacks ${missing}, which has the goals. Put it beside ${files.products}.`,
    );
  const annotations = readAnnotations(files.annotations!);
  const instructions = human ? readHumanInstructions(files.human!) : undefined;
  const random = pythonRandom(seed);
  const catalogue = openFileCatalogue(files.products, {
    limit: products,
    annotations,
    random,
    cache,
  });
  try {
    const goals = naming(instructions ? files.human! : files.annotations!, () =>
      instructions
        ? humanGoals(catalogue, instructions, random, seed)
        : syntheticGoals(catalogue, annotations, random, seed),
    );
    if (goals.length === 0)
      throw new EnvironmentError(
        "webshop",
        `${files.products} has no products with goals: do the files belong together?`,
      );
    const kind = human ? "human" : "synthetic";
    return {
      catalogue,
      goals: splitGoals(goals, valid),
      source: `${catalogue.size} products and ${goals.length} ${kind} goals in ${path}`,
      close: () => catalogue.close(),
    };
  } catch (error) {
    catalogue.close();
    throw error;
  }
}

/** Goals by number: 0 to 499 are for testing, then come `valid` for validation, the others are to learn. */
function splitGoals(goals: Goals, valid: number): Shop["goals"] {
  const test = Math.min(TEST_GOALS, goals.length);
  const validEnd = Math.min(test + valid, goals.length);
  const ranges: Record<string, readonly [number, number]> = {
    train: [validEnd, goals.length],
    valid: [test, validEnd],
    test: [0, test],
  };
  const splits = Object.keys(ranges).filter((split) => ranges[split]![1] > ranges[split]![0]);
  return {
    splits,
    length: (split) => ranges[split]![1] - ranges[split]![0],
    id: (split, index) => String(ranges[split]![0] + index),
    find(id) {
      if (!/^\d{1,10}$/.test(id) || Number(id) >= goals.length) return undefined;
      return goals.goal(Number(id));
    },
    about: `numbers from 0 to ${goals.length - 1}`,
  };
}
