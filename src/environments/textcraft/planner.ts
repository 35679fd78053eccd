/**
 * @file The shortest plan: which recipe for each thing, which item for each tag, what to get.
 *
 * Every thing is made in one way throughout a plan. A plan is as long as its craftings and the
 * different things that must be got. Ways are tried in turn, and given up once they are longer than
 * the best so far.
 */
import type { RecipeBook } from "./book.ts";
import { nameOf, type Recipe } from "./recipe.ts";
import type { Inventory } from "./rules.ts";

/** Ways to try before the best so far must do; trees of the game have a few hundred. */
const MOST_TRIES = 20_000;
/** Nobody plays so long; and a file of recipes may ask for more than there are atoms. */
const LONGEST_PLAN = 500;

interface Crafting {
  readonly recipe: Recipe;
  readonly times: number;
  /** The item that stands for each ingredient. */
  readonly used: readonly string[];
}

interface Way {
  readonly craftings: readonly Crafting[];
  readonly gets: ReadonlyMap<string, number>;
  readonly length: number;
}

/** The actions that make one of the goal from what is carried. */
export function shortestPlan(
  book: RecipeBook,
  inventory: Inventory,
  goal: string,
): readonly string[] | undefined {
  let best: Way | undefined;
  let tries = 0;
  const stock = new Map(inventory);

  /** Takes the open need of the highest rank: nothing that is made later needs more of it. */
  const search = (needs: ReadonlyMap<string, number>, way: Way): void => {
    if (way.length >= (best?.length ?? LONGEST_PLAN)) return;
    if (++tries > MOST_TRIES && best) return;
    const id = highest(book, needs);
    if (id === undefined) {
      best = way;
      return;
    }
    const rest = new Map(needs);
    rest.delete(id);
    // One must be crafted, even if some are carried: having is not winning.
    const missing = needs.get(id)! - (id === goal ? 0 : (stock.get(id) ?? 0));
    if (missing <= 0) {
      search(rest, way);
      return;
    }
    const recipes = book.recipes.get(id);
    if (!recipes) {
      const gets = new Map(way.gets).set(id, missing);
      search(rest, { ...way, gets, length: way.length + 1 });
      return;
    }
    for (const recipe of cheapestFirst(book, recipes)) {
      const times = Math.ceil(missing / recipe.count);
      for (const used of fillings(book, recipe, stock)) {
        const next = new Map(rest);
        for (const [i, item] of used.entries())
          next.set(item, (next.get(item) ?? 0) + times * recipe.ingredients[i]!.count);
        search(next, {
          ...way,
          craftings: [...way.craftings, { recipe, times, used }],
          length: way.length + times,
        });
      }
    }
  };
  search(new Map([[goal, 1]]), { craftings: [], gets: new Map(), length: 0 });
  return best && actions(best);
}

function highest(book: RecipeBook, needs: ReadonlyMap<string, number>): string | undefined {
  let found: string | undefined;
  for (const id of needs.keys())
    if (found === undefined || book.rank(id) > book.rank(found)) found = id;
  return found;
}

function cheapestFirst(book: RecipeBook, recipes: readonly Recipe[]): readonly Recipe[] {
  const cost = ({ ingredients }: Recipe): number =>
    ingredients.reduce((sum, { id }) => sum + 1 + book.depth(id), 0);
  return [...recipes].sort((a, b) => cost(a) - cost(b));
}

/** Each choice of items for a recipe's tags: what is carried and what is easily made first. */
function* fillings(
  book: RecipeBook,
  { ingredients }: Recipe,
  stock: ReadonlyMap<string, number>,
): Generator<readonly string[]> {
  const effort = (id: string): number => (stock.has(id) ? -1 : book.depth(id));
  const choices = ingredients.map(({ kind, id }) =>
    kind === "item" ? [id] : [...(book.tags.get(id) ?? [])].sort((a, b) => effort(a) - effort(b)),
  );
  const chosen: string[] = [];
  function* choose(): Generator<readonly string[]> {
    if (chosen.length === choices.length) {
      yield [...chosen];
      return;
    }
    for (const item of choices[chosen.length]!) {
      chosen.push(item);
      yield* choose();
      chosen.pop();
    }
  }
  yield* choose();
}

function actions({ craftings, gets }: Way): string[] {
  const got = [...gets].map(([id, count]) => `get ${count} ${nameOf(id)}`);
  const crafted = [...craftings].reverse().flatMap(({ recipe, times, used }) => {
    const parts = used.map((id, i) => `${recipe.ingredients[i]!.count} ${nameOf(id)}`);
    const action = `craft ${recipe.count} ${nameOf(recipe.output)} using ${parts.join(", ")}`;
    return new Array<string>(times).fill(action);
  });
  return [...got, ...crafted];
}
