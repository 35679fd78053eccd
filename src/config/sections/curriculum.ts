/**
 * @file `data.curriculum.*`: which tasks an iteration plays, and how long, as training goes on.
 */
import { z } from "zod";
import { count, positive, section, setting, share } from "../setting.ts";

export const curriculum = section({
  by: setting(
    z.enum(["none", "success_rate", "kind", "difficulty", "horizon"]).default("none"),
    "none: pass after pass over all tasks; success_rate: those are drawn most that are solved about half of the time; " +
      "kind: tasks of those kinds, for worlds where none comes twice; " +
      "difficulty: from the easiest to all, by what the world says of a task (its difficulty, or the length of its " +
      "solution); horizon: all tasks, with a limit of turns that grows.",
  ),
  floor: setting(
    z.number().gt(0).max(1).default(0.1),
    "success_rate, kind: the least weight of a task or kind that was played, where one that is solved half of the time has 1.",
  ),
  unseen: setting(positive.default(1), "success_rate: the weight of a task that was never played."),
  memory: setting(
    share.default(0.5),
    "What is left of a task's earlier groups in its success rate when another one was played (kind: of earlier iterations).",
  ),
  easiest: setting(
    z.number().gt(0).max(1).default(0.2),
    "difficulty: the share of the tasks, from the easiest on, that the first iteration may play.",
  ),
  iterations: setting(count.default(50), "difficulty: iterations until all tasks may be played."),
  stages: setting(
    z.array(z.tuple([count, count])).default([]),
    "horizon: from which iteration on how many turns an episode may have, as in [[1,10],[40,20],[80,30]]; validations are always of env.max_steps.",
  ),
});
