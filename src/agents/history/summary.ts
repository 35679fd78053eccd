/**
 * @file A summarised past: a model (the policy itself or another) writes down what matters of all steps
 * but the last, and the prompt has its words instead of theirs.
 */
import { type History, type PastStep, stepLine, windowText } from "./history.ts";

/** Whatever can answer a question in words. */
export type Summarizer = (question: string, signal?: AbortSignal) => Promise<string>;

export interface SummaryOptions {
  readonly kind: "summary";
  readonly summarize: Summarizer;
  /** Steps that are shown word for word besides. Default 1. */
  readonly length?: number;
  /** The summary's longest allowed length, in characters. Default 600. */
  readonly longest?: number;
}

export function summaryHistory({
  summarize,
  length = 1,
  longest = 600,
}: Omit<SummaryOptions, "kind">): History {
  const steps: PastStep[] = [];
  /** The summary of the first `covered` steps: asked for once. */
  let cached: { covered: number; text: Promise<string> } | undefined;
  return {
    record: (step) => void steps.push(step),
    async text({ task, signal }) {
      const covered = steps.length - length;
      const recent = windowText(steps, length);
      if (covered <= 0) return recent;
      if (cached?.covered !== covered) {
        const question = summaryQuestion(task, steps.slice(0, covered), longest);
        const asked = { covered, text: summarize(question, signal) };
        cached = asked;
        // A summary that failed is asked for again by whoever needs it next.
        asked.text.catch(() => {
          if (cached === asked) cached = undefined;
        });
      }
      const summary = (await cached.text).trim().slice(0, longest);
      const title = `What happened in your first ${covered === 1 ? "step" : `${covered} steps`}:`;
      return [title, summary, recent].filter(Boolean).join("\n");
    },
  };
}

function summaryQuestion(task: string, steps: readonly PastStep[], longest: number): string {
  return [
    "Sum up what an agent has done so far, so that it can go on without reading everything again.",
    `Task: ${task}`,
    "Steps:",
    ...steps.map(stepLine),
    "",
    "Say where the agent is, what it holds or has chosen, what it has found and where, what it tried",
    `that did not work, and what is left to do. At most ${longest} characters, no introduction.`,
  ].join("\n");
}
