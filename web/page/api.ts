/**
 * @file What the page asks its server, and how it hears of changes.
 */
import { useEffect, useState } from "preact/hooks";
import type {
  BeginPlay,
  Columns,
  EpisodeList,
  EpisodePage,
  FailureClass,
  FailureList,
  PlayTable,
  RunPage,
  RunRow,
  StepGroupPage,
} from "../../src/dashboard/api.ts";
import { fits, listed, queryOf, sorted, typesOf } from "../../src/dashboard/episodes/query.ts";
import type { ReportAnswers } from "../../src/dashboard/report.ts";

export interface Change {
  readonly run: string;
  readonly steps: number;
  readonly anew: boolean;
}

/** A report has its answers in itself, and nobody to ask. */
const report = reportAnswers();

function reportAnswers(): ReportAnswers | undefined {
  const text = document.getElementById("answers")?.textContent;
  return text ? (JSON.parse(text) as ReportAnswers) : undefined;
}

export const isReport = report !== undefined;

const notIncluded = () => new Error("The report does not have this; the dashboard shows it.");

const get = <Value>(path: string) => ask<Value>(path);

/** Of what changes something in the server: JSON, which no other page may send. */
const post = <Value>(path: string, body: unknown = {}, keepalive = false) =>
  ask<Value>(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    keepalive,
  });

async function ask<Value>(path: string, how?: RequestInit): Promise<Value> {
  const answer = await fetch(path, how);
  const value = (await answer.json()) as Value & { detail?: string };
  if (!answer.ok) throw new Error(value.detail ?? `the server answered ${answer.status}`);
  return value;
}

const part = encodeURIComponent;

const server = {
  runs: () => get<RunRow[]>("/api/runs"),
  run: (id: string) => get<RunPage>(`/api/runs/${part(id)}`),
  metrics: (id: string, after: number) =>
    get<Columns>(`/api/runs/${part(id)}/metrics?after=${after}`),
  episodes: (id: string, query: URLSearchParams) =>
    get<EpisodeList>(`/api/runs/${part(id)}/episodes?${query}`),
  episode: (id: string, episode: string, kind: string) =>
    get<EpisodePage>(`/api/runs/${part(id)}/episodes/${part(episode)}?kind=${kind}`),
  failures: (id: string, query: URLSearchParams) =>
    get<FailureList>(`/api/runs/${part(id)}/failures?${query}`),
  group: (id: string, group: string) =>
    get<StepGroupPage>(`/api/runs/${part(id)}/groups/${part(group)}`),
};

/** Playing a run's world; what happens comes as events of `events`. */
export const games = {
  open: (run: string) => post<PlayTable>(`/api/runs/${part(run)}/play`),
  begin: (session: string, given: BeginPlay) => post(`/api/play/${session}/begin`, given),
  act: (session: string, action: string) => post(`/api/play/${session}/act`, { action }),
  go: (session: string, turns: number) => post(`/api/play/${session}/go`, { turns }),
  /** Also while the page goes away. */
  close: (session: string) => post(`/api/play/${session}/close`, {}, true),
  events: (session: string) => `/api/play/${session}/events`,
};

/** The same of a report. */
function answersOf({ run, episodes, groups }: ReportAnswers): typeof server {
  const kindOf = (kind: string | null) => (kind === "validation" ? "validation" : "training");
  const found = async <Value>(value: Value | undefined): Promise<Value> => {
    if (value === undefined) throw notIncluded();
    return value;
  };
  return {
    runs: () => found([run.row]),
    run: () => found(run),
    metrics: () => found(run.columns),
    episode: (_, id, kind) => found(episodes[kindOf(kind)].find(({ row }) => row.id === id)),
    group: (_, group) => found(groups.find((one) => one.group === group)),
    async failures(_, params) {
      const lost = episodes[kindOf(params.get("kind"))].filter(({ row }) =>
        fits(row, queryOf(params)),
      );
      const classes: Record<string, FailureClass> = {};
      for (const { row, failure } of lost) {
        if (failure === undefined) continue;
        const { name, about } = failure;
        const known = classes[name];
        classes[name] = {
          about,
          count: (known?.count ?? 0) + 1,
          example: known?.example ?? row.id,
        };
      }
      return { count: lost.length, partial: false, classes };
    },
    async episodes(_, params) {
      const query = queryOf(params);
      const pages = episodes[kindOf(params.get("kind"))];
      const has = (text: string) => text.toLowerCase().includes((query.text ?? "").toLowerCase());
      const fitting = pages
        .filter(({ row }) => fits(row, query) && (!query.recorded || row.recorded))
        .filter(({ turns }) => turns.some(({ observation, text }) => has(observation) || has(text)))
        .map(({ row }) => row);
      const all = pages.map(({ row }) => row);
      return {
        ...listed(all.length, typesOf(all), sorted(fitting, query), query),
        partial: false,
      };
    },
  };
}

export const api = report ? answersOf(report) : server;

const listeners = new Set<(changes: readonly Change[]) => void>();
let source: EventSource | undefined;

/** One connection for the whole page, as long as somebody listens. */
export function onChanges(listener: (changes: readonly Change[]) => void): () => void {
  if (isReport) return () => {};
  listeners.add(listener);
  source ??= opened();
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    source?.close();
    source = undefined;
  };
}

function opened(): EventSource {
  const events = new EventSource("/api/events");
  events.onmessage = ({ data }) => {
    const changes = JSON.parse(String(data)) as Change[];
    for (const listener of listeners) listener(changes);
  };
  return events;
}

export interface Loaded<Value> {
  readonly value: Value | undefined;
  readonly error: string | undefined;
}

/**
 * Asks when the key changes, and again when `isNews` says so of a change. What was there stays until the new answer is.
 */
export function useLoaded<Value>(
  key: string,
  ask: () => Promise<Value>,
  isNews: (change: Change) => boolean = () => false,
): Loaded<Value> {
  const [loaded, setLoaded] = useState<Loaded<Value> & { key: string }>();
  useEffect(() => {
    let isOver = false;
    let asking = false;
    let again = false;
    const load = async () => {
      if (asking) {
        again = true;
        return;
      }
      asking = true;
      try {
        const value = await ask();
        if (!isOver) setLoaded({ key, value, error: undefined });
      } catch (error) {
        if (!isOver)
          setLoaded((before) => ({
            key,
            value: before?.key === key ? before.value : undefined,
            error: (error as Error).message,
          }));
      }
      asking = false;
      if (again && !isOver) {
        again = false;
        void load();
      }
    };
    void load();
    const stop = onChanges((changes) => {
      if (changes.some(isNews)) void load();
    });
    return () => {
      isOver = true;
      stop();
    };
  }, [key]);
  return loaded?.key === key ? loaded : { value: undefined, error: undefined };
}
