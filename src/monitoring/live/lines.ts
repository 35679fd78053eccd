/**
 * @file An episode while it is played, as lines: what the dashboard shows of a run's newest episodes and of those that are
 * played in it. Each line is short, however long the text was.
 */
import type { SampledToken } from "../../generation/index.ts";
import type { BegunEpisode, EpisodeStatus, EpisodeWatch } from "../../rollout/index.ts";

export type LiveLine =
  /** All that follows is of this iteration. */
  | { readonly kind: "iteration"; readonly iteration: number; readonly at: string }
  | {
      readonly kind: "begun";
      readonly episode: string;
      readonly task: string;
      readonly type?: string | undefined;
      /** How often it was begun before. */
      readonly attempt: number;
    }
  | {
      readonly kind: "told";
      readonly episode: string;
      readonly turn: number;
      readonly text: string;
      readonly admissible?: readonly string[];
    }
  | {
      readonly kind: "drawn";
      readonly episode: string;
      readonly turn: number;
      /** Each token's text and its log-probability; null: not known. */
      readonly tokens: readonly (readonly [text: string, logprob: number | null])[];
    }
  | {
      readonly kind: "acted";
      readonly episode: string;
      readonly turn: number;
      readonly action: string | null;
      readonly admissible: boolean | null;
      readonly reward: number;
      readonly score: number;
    }
  | {
      readonly kind: "ended";
      readonly episode: string;
      readonly status: EpisodeStatus;
      readonly reward: number;
      readonly score: number;
      /** What the world showed last. */
      readonly text: string;
      readonly error?: string | undefined;
    }
  /** More was played than is kept. */
  | { readonly kind: "full" };

/** Characters of one text, and admissible actions of one turn, that are kept. */
const MOST_CHARACTERS = 8_000;
const MOST_ACTIONS = 200;
const MOST_OF_ACTION = 300;

export const shortened = (text: string, most = MOST_CHARACTERS) =>
  text.length <= most ? text : `${text.slice(0, most)}… (${text.length - most} more characters)`;

/** Makes texts of tokens as they come; `models` has one for every tokenizer. */
export interface TokenTexts {
  stream(options: { skipSpecialTokens: boolean }): { push(id: number): string; finish(): string };
}

const known = (value: number) => (Number.isFinite(value) ? value : null);

/** Tells of an episode in lines. `isStreamed`: token by token; otherwise reply by reply. */
export function liveWatch(
  { id, task, attempt }: Pick<BegunEpisode, "id" | "task" | "attempt">,
  tokens: TokenTexts,
  isStreamed: boolean,
  say: (line: LiveLine) => void,
): EpisodeWatch {
  const episode = shortened(id, MOST_OF_ACTION);
  say({ kind: "begun", episode, task: shortened(task.id, 300), type: task.type, attempt });
  const texts = () => tokens.stream({ skipSpecialTokens: false });
  let reply = texts();
  let drawn = 0;
  return {
    told(turn, text, admissible) {
      reply = texts();
      drawn = 0;
      say({
        kind: "told",
        episode,
        turn,
        text: shortened(text),
        ...(admissible && {
          admissible: admissible
            .slice(0, MOST_ACTIONS)
            .map((action) => shortened(action, MOST_OF_ACTION)),
        }),
      });
    },
    ...(isStreamed && {
      token(turn: number, { id: token, logprob }: SampledToken) {
        drawn++;
        say({ kind: "drawn", episode, turn, tokens: [[reply.push(token), known(logprob)]] });
      },
    }),
    replied(turn, { ids, logprobs }) {
      // What came token by token is there already.
      const rest = ids
        .slice(drawn)
        .map((token, i) => [reply.push(token), known(logprobs[drawn + i]!)] as const);
      const last = reply.finish();
      const said = last === "" ? rest : [...rest, [last, null] as const];
      if (said.length > 0) say({ kind: "drawn", episode, turn, tokens: said });
    },
    acted(turn, { action, admissible, reward, score }) {
      const shown = action === null ? null : shortened(action, MOST_OF_ACTION);
      say({ kind: "acted", episode, turn, action: shown, admissible, reward, score });
    },
    ended({ status, reward, score, lastObservation, error }) {
      const text = shortened(lastObservation);
      say({ kind: "ended", episode, status, reward, score, text, error });
    },
  };
}
