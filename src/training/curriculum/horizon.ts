/**
 * @file Episodes that grow longer (AgentGym-RL's ScalingInter): few turns first, so that the policy learns what can be done at
 * once, then more, in stages.
 */
import { OptionError } from "../../assembly/index.ts";
import type { HorizonCurriculum } from "../options.ts";

/** Turns of an episode at most in an iteration. */
export function turnsAt(iteration: number, { stages }: HorizonCurriculum): number {
  return stages.findLast(([from]) => from <= iteration)![1];
}

/** What is wrong with stages, in a sentence; undefined: nothing. */
export function stagesProblem(stages: HorizonCurriculum["stages"]): string | undefined {
  if (stages.length === 0) return "it has no stage; expected some as in [[1,10],[40,20],[80,30]]";
  if (stages[0]![0] !== 1)
    return `its first stage begins with iteration ${stages[0]![0]}; expected 1`;
  const later = stages.findIndex(([from], i) => i > 0 && from <= stages[i - 1]![0]);
  if (later > 0)
    return `the stage from iteration ${stages[later]![0]} on stands behind that from ${stages[later - 1]![0]} on; expected them in their order`;
  return undefined;
}

/** `turns`: of an episode at most, whatever the stage. */
export function checkStages({ stages }: HorizonCurriculum, turns: number): void {
  const tooLong = stages.find(([, allowed]) => allowed > turns);
  if (tooLong)
    throw new OptionError(
      `data.curriculum.stages allows ${tooLong[1]} turns from iteration ${tooLong[0]} on, but an episode has ` +
        `${turns} at most; set env.max_steps to the longest stage.`,
    );
}
