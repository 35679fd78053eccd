/**
 * @file Constrained replies: only admissible actions can be drawn. Where a format asks for thoughts first,
 * they are drawn freely up to where the action begins, and the action goes on from there.
 */
import type { ReplyFormat } from "../../agents/index.ts";
import type { Observation } from "../../environments/index.ts";
import type { Completion, GenerationRequest, TextGenerator } from "../../generation/index.ts";
import type { Tokenizer } from "../../models/index.ts";

export interface Constraint {
  /** What the free part of a reply ends with: "Action:". Undefined: the reply is the action alone. */
  readonly opening: string | undefined;
  /** What may be said then; undefined where anything may. */
  choices(observation: Observation): string[] | undefined;
}

/** Stands for an action, to see what a format writes around it: no name of a field can have it. */
const SOME_ACTION = "…";

export function constraintOf(format: ReplyFormat): Constraint {
  const opening = openingOf(format);
  return {
    opening,
    choices: ({ admissible }) => {
      // Some actions have blanks that only the model can fill in.
      if (!admissible?.length || admissible.some((action) => action.includes("<")))
        return undefined;
      const skipped = opening?.length ?? 0;
      return [...new Set(admissible)].map((action) => format.write(action).slice(skipped));
    },
  };
}

/** What stands before the action, without the space between; undefined where nothing else is demanded. */
function openingOf(format: ReplyFormat): string | undefined {
  const { fields, actionField } = format;
  const refused = (reason: string) =>
    new RangeError(`a constrained policy cannot be: the format "${format.name}" demands ${reason}`);
  const at = fields.findIndex(({ name }) => name === actionField);
  const later = fields.slice(at + 1).find(({ optional }) => !optional);
  if (later) throw refused(`"${later.name}" after the action, where a reply ends`);
  const demanded = fields.slice(0, at).find(({ optional }) => !optional);
  if (!demanded) return undefined;
  const written = format.write(SOME_ACTION);
  const opening = written.slice(0, Math.max(0, written.indexOf(SOME_ACTION))).trimEnd();
  if (opening === "")
    throw refused(`"${demanded.name}", and nothing marks where the action begins`);
  return opening;
}

/**
 * Draws a reply: its free part, which leaves room for an action, and then one of the choices. A reply that
 * never comes to act ends as it is.
 */
export async function constrainedReply(
  generator: TextGenerator,
  request: GenerationRequest,
  { opening, choices, tokenizer }: ConstrainedOptions,
): Promise<Completion> {
  const { prompt, sampling, seed } = request;
  if (opening === undefined)
    return generator.generate({ ...request, sampling: { ...sampling, choices } });
  // One more to end a choice that another begins with.
  const longest = 1 + Math.max(...choices.map((choice) => tokenizer.encodePlain(choice).length));
  const maximumTokens = sampling.maximumTokens - longest;
  if (maximumTokens < 1)
    throw new RangeError(
      `sampling: maximumTokens is ${sampling.maximumTokens}, but a thought and the longest choice ` +
        `take at least ${longest + 1}`,
    );
  const stopStrings = [...(sampling.stopStrings ?? []), opening];
  const before = await generator.generate({
    ...request,
    sampling: { ...sampling, stopStrings, maximumTokens },
  });
  if (before.stop !== opening) return before;
  const action = await generator.generate({
    ...request,
    prompt: [...prompt, ...before.ids],
    sampling: { ...sampling, choices, maximumTokens: longest },
    // Of the same turn, and not the same numbers again.
    seed: BigInt.asUintN(64, ~BigInt(seed)),
  });
  return {
    ...action,
    ids: [...before.ids, ...action.ids],
    logprobs: [...before.logprobs, ...action.logprobs],
    sampledLogprobs: [...before.sampledLogprobs, ...action.sampledLogprobs],
    ...(action.allowed && { allowed: [...before.ids.map(() => null), ...action.allowed] }),
    cachedTokens: before.cachedTokens,
    retokenized: before.retokenized || action.retokenized,
  };
}

export interface ConstrainedOptions {
  /** Where the free part ends; undefined: there is none. */
  readonly opening: string | undefined;
  readonly choices: readonly string[];
  readonly tokenizer: Tokenizer;
}
