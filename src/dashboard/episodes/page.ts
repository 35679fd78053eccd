/**
 * @file An episode as the page shows it: turns, tokens with their texts, and what the update knew of each.
 */
import { FAILURES, failureOf } from "../../evaluation/index.ts";
import type { TokenColumn, TokenTable } from "../../monitoring/index.ts";
import { tokensOf } from "../../monitoring/index.ts";
import type { Trajectory, Turn } from "../../rollout/index.ts";
import type { EpisodePage, StepGroupPage, TurnView } from "../api.ts";
import type { FollowedRun } from "../run/run.ts";
import { plainRow } from "./table.ts";

/** Gives a token's text; undefined: there is no tokenizer. */
export type TokenText = ((id: number) => string) | undefined;

/** Characters of one text that are shown: a page is not for megabytes. */
const MOST_CHARACTERS = 200_000;

const cut = (text: string) =>
  text.length <= MOST_CHARACTERS
    ? text
    : `${text.slice(0, MOST_CHARACTERS)}\n… (${text.length - MOST_CHARACTERS} more characters)`;

const known = (value: number | undefined): number | null =>
  value === undefined || !Number.isFinite(value) ? null : value;

/** Undefined: there is no such episode. */
export function episodePage(
  run: FollowedRun,
  kind: "training" | "validation",
  id: string,
  textOf: TokenText,
): EpisodePage | undefined {
  const table = kind === "training" ? run.episodes : run.validation;
  const row = table.row(id);
  const trajectory = table.read(id);
  if (!row || !trajectory) return undefined;
  const tokens = kind === "training" ? run.tokens(row.step) : undefined;
  const place = tokens && placeOf(tokens, id);
  const failure = failureOf(trajectory);
  return {
    row: { ...plainRow(row), recorded: place !== undefined },
    context: trajectory.context,
    error: trajectory.error,
    failure: failure && { name: failure, about: FAILURES[failure] },
    rewards: trajectory.rewards,
    seconds: trajectory.seconds,
    lastObservation: cut(trajectory.lastObservation),
    turns: trajectory.turns.map((turn, i) =>
      turnView(turn, textOf, place && tokens.episodes[place.index]!.turns[i]),
    ),
    columns: place && columnsOf(tokens, place),
    about: place && tokens.about,
    group: table.rows((other) => other.group === row.group).map(plainRow),
  };
}

interface Place {
  readonly index: number;
  readonly start: number;
  readonly end: number;
}

function placeOf({ episodes }: TokenTable, id: string): Place | undefined {
  let start = 0;
  for (const [index, episode] of episodes.entries()) {
    const end = start + tokensOf(episode);
    if (episode.id === id) return { index, start, end };
    start = end;
  }
  return undefined;
}

function columnsOf({ columns }: TokenTable, { start, end }: Place): EpisodePage["columns"] {
  return Object.fromEntries(
    Object.entries(columns).map(([name, values]) => [
      name,
      Array.from(values.subarray(start, end), known),
    ]),
  );
}

function turnView(turn: Turn, textOf: TokenText, recorded: TurnView["recorded"]): TurnView {
  const { reply } = turn;
  return {
    messages: turn.messages.map(({ role, content }) => ({ role, content: cut(content) })),
    observation: cut(turn.observation),
    text: cut(reply.text),
    tokens: reply.ids.map((id) => ({ id, text: textOf?.(id) })),
    logprobs: reply.logprobs.map(known),
    promptTokens: turn.promptIds.length,
    action: turn.action,
    admissible: turn.admissible,
    problems: turn.problems.map(({ message }) => message),
    reward: turn.reward,
    score: turn.score,
    finish: reply.finish,
    anchor: cut(turn.anchor),
    recorded,
  };
}

/** The turns of a group's episodes, and which of them were compared with each other. */
export function stepGroupPage(run: FollowedRun, group: string): StepGroupPage {
  const members = run.episodes.rows((row) => row.group === group);
  return {
    group,
    episodes: members.map((row) => {
      const trajectory = run.episodes.read(row.id);
      const tokens = run.tokens(row.step);
      const place = tokens && placeOf(tokens, row.id);
      return {
        row: { ...plainRow(row), recorded: place !== undefined },
        turns: trajectory ? turnsOf(trajectory, tokens, place) : [],
      };
    }),
  };
}

function turnsOf(
  { turns }: Trajectory,
  tokens: TokenTable | undefined,
  place: Place | undefined,
): StepGroupPage["episodes"][number]["turns"] {
  let at = place?.start ?? 0;
  return turns.map(({ anchor, action }, i) => {
    const recorded = place && tokens!.episodes[place.index]!.turns[i];
    const first = (name: TokenColumn) => (recorded ? known(tokens!.columns[name]?.[at]) : null);
    const view = {
      anchor: cut(anchor),
      action,
      stepGroup: recorded?.stepGroup,
      return: recorded?.return ?? 0,
      episodePart: first("advantage_episode"),
      stepPart: first("advantage_step"),
      advantage: first("advantage"),
    };
    at += recorded?.tokens ?? 0;
    return view;
  });
}
