/**
 * @file What can be asked of a list of episodes. Pure: the page asks a report's episodes by the same functions.
 */
import type { EpisodeStatus } from "../../rollout/index.ts";
import type { EpisodeList, EpisodeRow } from "../api.ts";

export interface EpisodeQuery {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** A part of the task's name, and the whole name. */
  readonly task?: string | undefined;
  readonly exactly?: string | undefined;
  readonly type?: string | undefined;
  readonly group?: string | undefined;
  readonly status?: EpisodeStatus | undefined;
  readonly won?: boolean | undefined;
  /** Only those whose tokens were recorded. */
  readonly recorded?: boolean | undefined;
  /** In what was seen and said. */
  readonly text?: string | undefined;
  readonly sort?: keyof typeof ORDERS | undefined;
  readonly descending?: boolean | undefined;
  readonly offset?: number | undefined;
  readonly limit?: number | undefined;
}

/** By what episodes can be sorted. */
export const ORDERS = {
  step: ({ step }: EpisodeRow) => step,
  reward: ({ reward }: EpisodeRow) => reward,
  turns: ({ turns }: EpisodeRow) => turns,
  task: ({ task }: EpisodeRow) => task,
  status: ({ status }: EpisodeRow) => status,
} as const;

const MOST_ROWS = 500;
const MOST_TYPES = 100;

export function queryOf(params: URLSearchParams): EpisodeQuery {
  const text = (name: string) => params.get(name) || undefined;
  const number = (name: string) => {
    const value = Number(params.get(name) || Number.NaN);
    return Number.isFinite(value) ? value : undefined;
  };
  const flag = (name: string) => {
    const value = params.get(name);
    return value === "1" ? true : value === "0" ? false : undefined;
  };
  const sort = text("sort");
  return {
    ...{
      from: number("from"),
      to: number("to"),
      task: text("task"),
      exactly: text("exactly"),
      type: text("type"),
    },
    ...{ group: text("group"), text: text("text"), won: flag("won"), recorded: flag("recorded") },
    status: text("status") as EpisodeStatus | undefined,
    sort: sort && Object.hasOwn(ORDERS, sort) ? (sort as keyof typeof ORDERS) : undefined,
    descending: flag("descending"),
    offset: number("offset"),
    limit: number("limit"),
  };
}

/** Whether a row fits, but for its text and what was recorded. */
export function fits(row: EpisodeRow, query: EpisodeQuery): boolean {
  return (
    (query.from === undefined || row.step >= query.from) &&
    (query.to === undefined || row.step <= query.to) &&
    (query.task === undefined || row.task.includes(query.task)) &&
    (query.exactly === undefined || row.task === query.exactly) &&
    (query.type === undefined || row.type === query.type) &&
    (query.group === undefined || row.group === query.group) &&
    (query.status === undefined || row.status === query.status) &&
    (query.won === undefined || row.won === query.won)
  );
}

/** In the order that was asked for. */
export function sorted<Row extends EpisodeRow>(rows: Row[], query: EpisodeQuery): Row[] {
  const { sort = "step", descending = false } = query;
  const order = ORDERS[sort];
  // By iterations they come as they are: of hundreds of thousands, looking is much cheaper than sorting.
  if (!descending && rows.every((row, i) => i === 0 || order(rows[i - 1]!) <= order(row)))
    return rows;
  const sign = descending ? -1 : 1;
  return rows.sort((a, b) => {
    const [x, y] = [order(a), order(b)];
    return x < y ? -sign : x > y ? sign : 0;
  });
}

/** The part that is shown of what was found among all. */
export function listed(
  all: number,
  types: readonly string[],
  found: readonly EpisodeRow[],
  { offset = 0, limit = 100 }: EpisodeQuery,
): Omit<EpisodeList, "partial"> {
  const statuses: Record<string, number> = {};
  for (const { status } of found) statuses[status] = (statuses[status] ?? 0) + 1;
  const from = Math.max(0, Math.floor(offset));
  const count = Math.min(Math.max(0, Math.floor(limit)), MOST_ROWS);
  return {
    all,
    found: found.length,
    rows: found.slice(from, from + count),
    statuses,
    types,
  };
}

/** Kinds of tasks that occur. */
export function typesOf(rows: readonly EpisodeRow[]): string[] {
  const types = new Set<string>();
  for (const { type } of rows) if (type !== "") types.add(type);
  return [...types].sort().slice(0, MOST_TYPES);
}
