/**
 * @file What a step draws: the next token of each request that is complete, and those behind its guesses.
 */
import type { Answer } from "./answer.ts";
import type { CachedSequence } from "./cache/sequence.ts";
import { PAGE_SIZE } from "./cache/store.ts";
import type { Work } from "./layout.ts";
import type { StepPlan } from "./plan.ts";
import type { SampledToken } from "./request.ts";
import type { Guesser } from "./speculation/guess.ts";
import type { Checked, Speculation } from "./speculation/speculation.ts";

export interface Drawing {
  readonly answer: Answer;
  /** Tokens that are computed with the known one. */
  readonly guesses: readonly number[];
  /** Drawn before the step. */
  readonly before: number;
  readonly checked: Checked | undefined;
  /** The token after the known one, and one after each guess. */
  tokens: (SampledToken | Error)[];
}

export interface DrawingStep {
  readonly work: Work[];
  readonly drawings: Drawing[];
  /** Tokens that the step computes. */
  readonly tokens: number;
  readonly onlyDrawing: boolean;
}

export interface SpeculationPlan {
  readonly speculation: Speculation;
  readonly guesserOf: (answer: Answer) => Guesser;
  readonly running: number;
  readonly tokensPerStep: number;
}

/** The plan's work, with guesses where they pay. */
export function drawingStep(plan: StepPlan, speculating: SpeculationPlan | null): DrawingStep {
  const answers = plan.wanted.map((i) => plan.work[i]!.answer);
  const work: Work[] = plan.work.map(({ answer: { sequence }, tokens }) => ({ sequence, tokens }));
  let tokens = 0;
  for (const each of work) tokens += each.tokens;
  const onlyDrawing = tokens === answers.length;
  let checks: Checked[] | null = null;
  if (speculating && answers.length > 0) {
    const { speculation, guesserOf, running, tokensPerStep } = speculating;
    checks = speculation.choose(
      {
        ...{ tokens, onlyDrawing, running, most: tokensPerStep - tokens },
        waiting: work.length < running,
      },
      answers.map((answer) => ({
        guesser: guesserOf(answer),
        guessable: () => answer.guessable(),
      })),
    );
  }
  const drawings = answers.map((answer, i): Drawing => {
    const own = work[plan.wanted[i]!]!;
    const checked = checks?.[i];
    const known = own.sequence.computed + own.tokens;
    const guesses = checked?.guess.ids.slice(0, room(own.sequence, known, checked.count)) ?? [];
    if (guesses.length > 0) own.guesses = guesses;
    tokens += guesses.length;
    return { answer, guesses, before: answer.drawnCount, checked, tokens: [] };
  });
  return { work, drawings, tokens, onlyDrawing };
}

/** How many guesses find a place in the cache behind the known tokens: nobody loses one for them. */
function room(sequence: CachedSequence, known: number, guesses: number): number {
  if (guesses === 0 || sequence.reserve(known + guesses)) return guesses;
  return sequence.pages.length * PAGE_SIZE - known;
}
