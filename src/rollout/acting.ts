/**
 * @file What becomes of a reply: a tool of the agent's own answers, the world moves, or neither.
 */
import { type Agent, type AgentReply, isAdmissible, runTool } from "../agents/index.ts";
import { checkedResult, type Environment, type Observation } from "../environments/index.ts";
import type { WorldCalls } from "./world-calls.ts";

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
  readonly limits: { readonly observationCharacters?: number | undefined };
}

/** `unreadable` says to the agent what was wrong with a reply that could not be read. */
export async function act(
  { environment, about, agent, limits }: Acting,
  unreadable: (reply: AgentReply) => string,
  reply: AgentReply,
  observation: Observation,
  calls: WorldCalls,
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
  const tool = reply.call?.name;
  const answer = await calls.wait(`the tool ${tool}`, () =>
    runTool(agent.tools, reply.call, calls.signal),
  );
  if (answer)
    return {
      ...stays,
      seen: told(answer.text),
      admissible: null,
      tool: { name: tool!, failed: answer.failed },
    };
  const action = reply.action;
  const given = await calls.wait("step()", () => environment.step(action));
  const result = calls.owned(() => checkedResult(about.name, given, limits.observationCharacters));
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
