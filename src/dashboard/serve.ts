/**
 * @file The dashboard's server: run folders as a page. It only reads; nothing of a run can be changed through it. Where that
 * is allowed, it lets runs' worlds be played.
 */
import { join } from "node:path";
import { type OpenServer, openServer, type ServerOptions } from "../network/index.ts";
import type { Settings } from "../config/index.ts";
import { pageFile } from "./assets.ts";
import { episodePage, stepGroupPage } from "./episodes/page.ts";
import { type EpisodeQuery, queryOf } from "./episodes/query.ts";
import { changeStream, liveStream } from "./events.ts";
import { type FollowedRuns, followRuns } from "./follow.ts";
import { openPlay, play, playEvents } from "./play/routes.ts";
import { type PlaySessions, playSessions } from "./play/sessions.ts";
import { followLive } from "./run/live.ts";
import type { FollowedRun } from "./run/run.ts";
import { tokenizers } from "./tokenizers.ts";

export interface DashboardOptions
  extends Pick<ServerOptions, "host" | "port" | "allowedHosts" | "apiKey" | "say"> {
  /** Folders of runs, or folders in which runs lie. */
  readonly folders: readonly string[];
  /**
   * Lets whoever may ask open the runs' worlds and play them, which runs those worlds' programs. Undefined: it only shows.
   */
  readonly play?: PlayPermission | undefined;
}

export interface PlayPermission {
  /** Settings of worlds (`env.…`) that start programs, for which a run's word is not enough. */
  readonly settings?: Settings;
}

export async function serveDashboard(options: DashboardOptions): Promise<OpenServer> {
  const { folders, play: permission, ...where } = options;
  const runs = followRuns(folders);
  const games = permission && playSessions(permission.settings ?? {});
  const parts = { runs, textOf: tokenizers(), games };
  const server = await openServer({ ...where, handler: (request) => answer(request, parts) });
  return {
    ...server,
    async close() {
      runs.close();
      await server.close();
      await games?.close();
    },
  };
}

interface Parts {
  readonly runs: FollowedRuns;
  readonly textOf: ReturnType<typeof tokenizers>;
  readonly games: PlaySessions | undefined;
}

const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

function json(value: unknown, status = 200): Response {
  return Response.json(value, { status, headers: HEADERS });
}

const missing = (what: string) => json({ detail: `There is no ${what} here.` }, 404);

async function answer(request: Request, given: Parts): Promise<Response> {
  const { runs, textOf, games } = given;
  const { pathname, searchParams } = new URL(request.url);
  const parts = partsOf(pathname);
  if (!parts) return json({ detail: "The address cannot be read." }, 400);
  const [first, second, id, part, name] = parts;
  if (request.method === "POST" && first === "api" && games)
    return played(request, runs, games, parts);
  if (request.method !== "GET" && request.method !== "HEAD")
    return json({ detail: "The dashboard only shows; use GET." }, 405);
  if (first !== "api") return asset(pathname);
  if (second === "play" && games && id !== undefined && part === "events") {
    const events = playEvents(games, id, request.signal);
    return events instanceof Response ? events : json(events.value, events.status);
  }
  if (second === "events" && id === undefined) return changeStream(runs, request.signal);
  if (second !== "runs") return missing("such page");
  if (id === undefined) return json(runs.all().map((run) => run.row()));
  const run = runs.get(id);
  if (!run) return missing("such run");
  const kind = searchParams.get("kind") === "validation" ? "validation" : "training";
  switch (part) {
    case undefined:
      return json({ ...run.page(), isPlayable: games !== undefined });
    case "metrics":
      return json(run.columns(Number(searchParams.get("after") ?? Number.NEGATIVE_INFINITY)));
    case "episodes": {
      if (name === undefined) return json(listOf(run, kind, queryOf(searchParams)));
      const page = episodePage(run, kind, name, textOf(run.start));
      return page ? json(page) : missing("such episode");
    }
    case "failures": {
      const table = kind === "training" ? run.episodes : run.validation;
      return json(table.failures(queryOf(searchParams)));
    }
    case "live":
      return liveStream(followLive(join(run.folder, "live.jsonl")), request.signal);
    case "groups":
      return name === undefined ? missing("such group") : json(stepGroupPage(run, name));
    default:
      return missing("such page");
  }
}

async function played(
  request: Request,
  runs: FollowedRuns,
  games: PlaySessions,
  [, second, id, part]: readonly string[],
): Promise<Response> {
  const run = second === "runs" && part === "play" ? runs.get(id ?? "") : undefined;
  if (run) {
    const { status, value } = await openPlay(games, run.folder);
    return json(value, status);
  }
  if (second !== "play" || id === undefined) return missing("such page");
  const { status, value } = await play(games, id, part, request);
  return json(value, status);
}

/** Undefined: a percent sign that means nothing. */
function partsOf(pathname: string): string[] | undefined {
  try {
    return pathname.split("/").slice(1).filter(Boolean).map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

function asset(pathname: string): Response {
  const file = pageFile(pathname === "/" ? "index.html" : pathname.slice(1));
  if (!file) return missing("such file");
  return new Response(file.content, { headers: { ...HEADERS, "content-type": file.type } });
}

function listOf(run: FollowedRun, kind: "training" | "validation", query: EpisodeQuery) {
  return kind === "training"
    ? run.episodes.find(query, run.isRecorded)
    : run.validation.find(query, () => false);
}
