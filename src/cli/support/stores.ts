/**
 * @file A new store of episodes, for commands that play them once.
 */
import { openTrajectoryStore, type TrajectoryStore } from "../../rollout/index.ts";
import { UsageError } from "../arguments/usage.ts";

/** Episodes that are there already are not mixed with others. `named`: the folder as it was given. */
export function emptyStore(folder: string, named: string): TrajectoryStore {
  const store = openTrajectoryStore(folder);
  if (store.episodes().length === 0) return store;
  store.close();
  throw new UsageError(`${named} has trajectories already; choose another folder, or remove it.`);
}
