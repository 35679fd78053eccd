/**
 * @file The lights, slowly: some time passes in every step, and in every fifth task nothing is ever answered. Who waits by the
 * date waits too long, or not at all.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { defineWorld } from "../../../src/environments/index.ts";
import lights from "./lights.ts";

export default defineWorld({
  ...lights,
  name: "slow-lights",
  async open(given) {
    const world = await lights.open(given);
    return {
      ...world,
      environment() {
        const inner = world.environment();
        let isSilent = false;
        return {
          reset(task) {
            isSilent = Number(/\d+$/.exec(task.id)?.[0] ?? 1) % 5 === 0;
            return inner.reset(task);
          },
          async step(action) {
            if (isSilent) return new Promise<never>(() => {});
            await sleep(5);
            return inner.step(action);
          },
        };
      },
    };
  },
});
