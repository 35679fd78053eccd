/**
 * @file The world of a shop.
 */
import type { LocalEnvironment, Task, World } from "../environment.ts";
import { requireSplit, taskSet } from "../tasks.ts";
import { type Context, ShopEnvironment } from "./environment.ts";
import type { ShopperKind } from "./expert/kind.ts";
import { shopper } from "./expert/shopper.ts";
import { catalogueFor } from "./shop.ts";
import { solutionOf } from "./solution.ts";

export function shopWorld(context: Context, expert: ShopperKind): World<LocalEnvironment> {
  const { name, shop, mode } = context;
  const { goals } = shop;
  return {
    name,
    source: shop.source,
    splits: goals.splits,
    tasks(split) {
      requireSplit(name, split, goals.splits);
      return taskSet({
        environment: name,
        split,
        length: goals.length(split),
        task(index): Task {
          const id = goals.id(split, index);
          // The shop's department: "beauty", "garden", …
          const type = goals.find(id)?.category;
          return { environment: name, split, id, ...(type && { type }) };
        },
      });
    },
    environment: () => new ShopEnvironment(context),
    // The shopper reads plain text; what precedes the page would confuse it.
    ...(mode === "text" && context.previousActions + context.previousObservations === 0
      ? { expert: () => shopper(expert) }
      : {}),
    solution(task) {
      const goal = goals.find(task.id);
      return goal && solutionOf(goal, catalogueFor(shop, task.id));
    },
    close: () => shop.close?.(),
  };
}
