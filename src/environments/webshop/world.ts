/**
 * @file The world of a shop.
 */
import type { LocalEnvironment, World } from "../environment.ts";
import { requireSplit, taskSet } from "../tasks.ts";
import { type Context, ShopEnvironment } from "./environment.ts";
import { shopper } from "./expert/shopper.ts";
import { solutionOf } from "./solution.ts";

export function shopWorld(context: Context): World<LocalEnvironment> {
  const { name, shop, mode } = context;
  const { goals, catalogue } = shop;
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
        task: (index) => ({ environment: name, split, id: goals.id(split, index) }),
        type: () => undefined,
      });
    },
    environment: () => new ShopEnvironment(context),
    // The shopper reads plain text; what precedes the page would confuse it.
    ...(mode === "text" && context.previousActions + context.previousObservations === 0
      ? { expert: () => shopper() }
      : {}),
    solution(task) {
      const goal = goals.find(task.id);
      return goal && solutionOf(goal, catalogue);
    },
    close: () => shop.close?.(),
  };
}
