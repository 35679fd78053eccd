/**
 * @file What becomes of a reply: a tool of the agent's own answers, the world moves, or neither.
 */
import { type Agent, type AgentReply, isAdmissible, runTool } from "../agents/index.ts";
import { type Environment, EnvironmentError, type Observation } from "../environments/index.ts";
import { checkedResult } from "./checked.ts";
import { orAborted } from "./limits.ts";

/** What came of a reply. */
export interface Outcome {
  observation: Observation;
  /** The observation as the agent is shown it. */
  seen: Observation;
  reward: number;
  /** Undefined: the world did not move. */
  score?: number;
  done: boolean;
  won: boolean;
  admissible: boolean | null;
  tool?: { name: string; failed: boolean };
}

interface Acting {
  readonly environment: Environment;
  readonly about: { readonly name: string };
  readonly agent: Agent;
}

/** `unreadable` says to the agent what was wrong with a reply that could not be read. */
export async function act(
  { environment, about, agent }: Acting,
  unreadable: (reply: AgentReply) => string,
  reply: AgentReply,
  observation: Observation,
  signal: AbortSignal,
): Promise<Outcome> {
  const stays = { observation, reward: 0, done: false, won: false };
  const told = (text: string): Observation => ({
    // In steps the prompt holds only this observation, so the world's own must stay in it.
    text: agent.context === "steps" ? `${text}\n\n${observation.text}` : text,
    anchor: observation.anchor,
    instruction: observation.instruction,
    get admissible() {
      return observation.admissible;
    },
    info: observation.info,
  });
  if (reply.action === undefined)
    return { ...stays, seen: told(unreadable(reply)), admissible: null };
  const answer = await orAborted(runTool(agent.tools, reply.call, signal), signal);
  if (answer)
    return {
      ...stays,
      seen: told(answer.text),
      admissible: null,
      tool: { name: reply.call!.name, failed: answer.failed },
    };
  const action = reply.action;
  const result = checkedResult(
    about.name,
    await inWorld(about.name, () => orAborted(environment.step(action), signal)),
  );
  return {
    observation: result.observation,
    seen: result.observation,
    reward: result.reward,
    score: result.score,
    done: result.done,
    won: result.won,
    admissible: result.admissible ?? listed(observation, action),
  };
}

/** Where a world lists the actions and does not say whether this was one. */
function listed({ admissible }: Observation, action: string): boolean | null {
  return admissible ? isAdmissible(action, admissible) : null;
}

/** Whatever a world throws is an error of the world. */
export async function inWorld<Value>(
  world: string,
  run: () => Value | Promise<Value>,
): Promise<Value> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof EnvironmentError) throw error;
    throw new EnvironmentError(world, messageOf(error), { cause: error });
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
