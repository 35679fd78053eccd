/**
 * @file What the next step computes: which requests, how many tokens of each.
 */
import type { Answer } from "./answer.ts";
import { PAGE_SIZE } from "./cache/store.ts";

export interface StepPlan {
  work: { answer: Answer; tokens: number }[];
  /** Indices into `work` of those whose next token can be drawn afterwards. */
  wanted: number[];
  /** How many requests lost their place in the cache. */
  preempted: number;
}

export interface PlanOptions {
  tokensPerStep: number;
  /** Frees the cache of one idle conversation; false when there is none. */
  evictIdle: () => boolean;
}

/** `running` is in order of arrival: earlier requests go first, later ones give way. */
export function planStep(running: readonly Answer[], options: PlanOptions): StepPlan {
  const plan: StepPlan = { work: [], wanted: [], preempted: 0 };
  const planned = new Set<Answer>();
  /** Pages that this step computes: whoever needs the same ones waits and shares them. */
  const computing = new Set<string>();
  let budget = options.tokensPerStep;

  for (const answer of running) {
    const { sequence } = answer;
    sequence.adoptShared();
    const key = sequence.nextKey();
    if (key !== null && computing.has(key)) continue;
    const remaining = sequence.ids.length - sequence.computed;
    const tokens = Math.min(remaining, budget);
    if (tokens === 0) continue;
    if (!makeRoom(answer, sequence.computed + tokens)) continue;
    for (let page = Math.floor(sequence.computed / PAGE_SIZE); key !== null; page++) {
      if ((page + 1) * PAGE_SIZE > sequence.computed + tokens) break;
      computing.add(sequence.keyOf(page));
    }
    answer.begin();
    budget -= tokens;
    planned.add(answer);
    if (tokens === remaining) plan.wanted.push(plan.work.length);
    plan.work.push({ answer, tokens });
  }
  return plan;

  /** Pages for a request: free ones, then those of idle conversations, then of the latest request. */
  function makeRoom(answer: Answer, tokens: number): boolean {
    while (!answer.sequence.reserve(tokens)) {
      if (options.evictIdle()) continue;
      const victim = running.findLast(
        (other) => other !== answer && !planned.has(other) && other.sequence.pages.length > 0,
      );
      if (!victim || running.indexOf(victim) < running.indexOf(answer)) return false;
      victim.sequence.evict();
      // One that only found pages of others, and waited, loses nothing that it had computed.
      if (victim.computing) plan.preempted++;
      victim.computing = false;
    }
    return true;
  }
}
