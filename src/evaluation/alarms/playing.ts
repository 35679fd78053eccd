/**
 * @file Alarms about how the agent plays: replies that cannot be read, are cut or go round, actions that the world does not
 * take, episodes that run into the end of their context.
 */
import {
  type Alarm,
  type AlarmName,
  type Evidence,
  lasting,
  meanOf,
  percent,
  type Seen,
  solvedIn,
} from "./alarm.ts";

/** Iterations in a row. */
const PATIENCE = 3;
/** Most: more than half. */
const MOST = 0.5;
const MOST_LOOPING = 0.3;
/** Who wins so much can play, whatever else is to be said. */
const WINS = 0.3;
/** What has become so much better since the run's first iterations is on its way. */
const BETTER = 0.1;

/** A share that is too large for some iterations, and does not fall. */
function mostly(
  metric: string,
  what: string,
  { least = MOST, isGood = false }: { least?: number; isGood?: boolean } = {},
): (seen: Seen) => Evidence | undefined {
  const bad = (value: number) => (isGood ? 1 - value : value);
  return (seen) => {
    const found = lasting(seen, PATIENCE, metric, (value) => bad(value) > least);
    if (!found) return undefined;
    const now = bad(found.at(-1)!);
    const first = meanOf(seen.first.slice(0, 1), metric);
    if (first !== undefined && bad(first) - now > BETTER) return undefined;
    const { won, episodes } = solvedIn(seen.last(PATIENCE)!);
    if (won >= WINS * episodes && episodes > 0) return undefined;
    return { text: `${percent(now)} of ${what}, for ${PATIENCE} iterations`, level: now };
  };
}

export const PLAYING = {
  unreadable_replies: {
    grade: "setup",
    means:
      "most replies have not the form in which an action is read, so the world is hardly ever played",
    tries:
      "look at an episode; use the format, the prompts and the chat template that the model was warmed up with, or warm it up (sft)",
    remedies: ["chat form", "warm start", "longer replies"],
    check: mostly("episode/well_formed_ratio", "replies are not well-formed", { isGood: true }),
  },
  invalid_actions: {
    grade: "setup",
    means: "most actions are none that the world takes: the agent does not know what it can do",
    tries:
      "show the admissible actions in the prompt, warm the model up on this world, or let only admissible actions be drawn",
    remedies: ["constrain", "warm start"],
    check: mostly("episode/taken_action_ratio", "actions were not taken by the world", {
      isGood: true,
    }),
  },
  replies_cut: {
    grade: "setup",
    means: "most replies end at their largest length, mostly before they say an action",
    tries: "allow longer replies, or find out why the model does not come to an end",
    remedies: ["longer replies", "chat form"],
    check: mostly("response_length/clip_ratio", "replies were cut at their largest length"),
  },
  context_full: {
    grade: "setup",
    means:
      "most episodes end because the next prompt leaves no room for a reply, however well they were played",
    tries: "allow longer prompts, keep less history, or shorten replies that ramble",
    remedies: ["longer prompts", "less entropy bonus"],
    check: mostly("episode/context_full_ratio", "episodes ended with a full context"),
  },
  reply_loops: {
    grade: "ruin",
    means: "many replies say the same few tokens again and again until they end",
    tries:
      "lower the learning rate, keep the policy near its reference (KL), or go back to an earlier checkpoint",
    remedies: ["lower the learning rate", "KL to the reference"],
    check: mostly("response_length/loop_ratio", "replies end in a loop", { least: MOST_LOOPING }),
  },
} as const satisfies Partial<Record<AlarmName, Alarm>>;
