/**
 * @file Playing over HTTP: JSON in, JSON out; what happens in an episode comes as events.
 *
 *   POST /api/runs/ID/play          opens the run's world: PlayTable
 *   POST /api/play/SESSION/begin    BeginPlay: a task, and who plays it
 *   POST /api/play/SESSION/act      { action }: a person's
 *   POST /api/play/SESSION/go       { turns }: the policy goes on for so many
 *   POST /api/play/SESSION/close
 *   GET  /api/play/SESSION/events   events: LiveEvent
 */
import { z } from "zod";
import { liveStream } from "../events.ts";
import { PlayBusyError, type PlaySessions } from "./sessions.ts";

const MOST_CHARACTERS = 20_000;
const whole = z.int().nonnegative();
const BEGIN = z.strictObject({
  split: z.string().max(300),
  task: z.string().min(1).max(1000),
  seed: whole,
  iteration: whole.optional(),
});
const ACT = z.strictObject({ action: z.string().max(MOST_CHARACTERS) });
const GO = z.strictObject({ turns: z.int().min(1).max(1_000_000) });

/** What to answer: a status and a value. */
export interface PlayAnswer {
  readonly status: number;
  readonly value: unknown;
}

const refused = (status: number, detail: string): PlayAnswer => ({ status, value: { detail } });
const GONE = refused(404, "This game is over: it was closed, or nobody had used it for a while.");

export async function openPlay(sessions: PlaySessions, folder: string): Promise<PlayAnswer> {
  return told(async () => ({ status: 200, value: await sessions.open(folder) }));
}

export async function play(
  sessions: PlaySessions,
  id: string,
  verb: string | undefined,
  request: Request,
): Promise<PlayAnswer> {
  const session = sessions.get(id);
  if (!session) return GONE;
  return told(async () => {
    const given = await bodyOf(request);
    switch (verb) {
      case "begin":
        await session.begin(BEGIN.parse(given));
        break;
      case "act":
        await session.act(ACT.parse(given).action);
        break;
      case "go":
        session.go(GO.parse(given).turns);
        break;
      case "close":
        await sessions.end(id);
        break;
      default:
        return refused(404, "There is no such page here.");
    }
    return { status: 200, value: {} };
  });
}

export function playEvents(sessions: PlaySessions, id: string, signal: AbortSignal) {
  const session = sessions.get(id);
  return session ? liveStream(session, signal) : GONE;
}

async function bodyOf(request: Request): Promise<unknown> {
  try {
    return await request.json();
  } catch {
    throw new Error("the body is no JSON");
  }
}

/** Whatever went wrong, in a sentence: who may play may know. */
async function told(work: () => Promise<PlayAnswer>): Promise<PlayAnswer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PlayBusyError) return refused(503, error.message);
    if (error instanceof z.ZodError) return refused(400, z.prettifyError(error));
    return refused(400, error instanceof Error ? error.message : String(error));
  }
}
