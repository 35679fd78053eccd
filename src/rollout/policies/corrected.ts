/**
 * @file A model that acts beside an expert: in a share of turns the model's reply is what happens, in the
 * others the expert's, which goes on from wherever the model has led it. What is learned from such episodes
 * are the expert's turns (see src/training/sft/examples.ts): how to go on after one's own mistakes, which
 * no episode of an expert alone can show.
 */
import { chosenAction, type ReplyFormat } from "../../agents/index.ts";
import { type DistantExpert, seededRandom } from "../../environments/index.ts";
import type { Policy } from "./policy.ts";
import { expertAction, expertReply, minimalWords } from "./scripted.ts";

export interface CorrectedPolicyOptions {
  readonly student: Policy;
  readonly format: ReplyFormat;
  /** A new expert for one episode; it must be able to go on after others (`Expert.acted`). */
  readonly expert: (episode: string) => DistantExpert;
  /** The share of turns in which the model acts, 0 to 1. */
  readonly share: number;
  readonly seed: number;
}

export function correctedPolicy(options: CorrectedPolicyOptions): Policy {
  const { student, format, share, seed } = options;
  const { chat } = student;
  const words = minimalWords(format);
  const experts = new Map<string, DistantExpert>();
  return {
    ...student,
    // The expert may say more than the model.
    replyTokens: student.contextLength,
    async reply(request) {
      const { episode, turn, observation, maximumTokens, signal } = request;
      const expert = turn === 0 ? options.expert(episode) : experts.get(episode)!;
      experts.set(episode, expert);
      if (!expert.acted)
        throw new Error("this world's expert cannot go on from where a model has led it");
      const action = await expertAction(expert, observation);
      const text = format.write(action, words(observation, action, turn, expert.thought?.()));
      // By episode and turn: what happens must not depend on which episode is ahead.
      if (!seededRandom("corrected", seed, episode, turn).chance(share))
        return { ...expertReply(chat, text, maximumTokens, signal), source: "scripted" };
      const shorter = Math.min(maximumTokens, student.replyTokens);
      const completion = await student.reply({ ...request, maximumTokens: shorter });
      const said = chat.tokenizer.decode(completion.ids, { skipSpecialTokens: true });
      const done = format.parse(said, { turn }).action ?? "";
      expert.acted(chosenAction(done, observation.admissible));
      return completion;
    },
    end(episode) {
      experts.delete(episode);
      student.end(episode);
    },
  };
}
