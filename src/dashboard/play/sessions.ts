/**
 * @file All places to play that are open: so many at most, and none for longer than somebody uses it.
 */
import { randomBytes } from "node:crypto";
import type { Settings } from "../../config/index.ts";
import type { PlayTable } from "../api.ts";
import { openPlaySession, type PlaySession } from "./session.ts";

export interface PlaySessions {
  open(run: string): Promise<PlayTable>;
  /** Undefined: it was closed, or never was. Whoever asks uses it. */
  get(session: string): PlaySession | undefined;
  isOpen(session: string): boolean;
  end(session: string): Promise<void>;
  close(): Promise<void>;
}

/** Nothing more can be opened now. */
export class PlayBusyError extends Error {}

export interface PlayLimits {
  readonly sessions?: number;
  /** Minutes without use after which one is closed. */
  readonly idleMinutes?: number;
}

export function playSessions(given: Settings, limits: PlayLimits = {}): PlaySessions {
  const { sessions: most = 4, idleMinutes = 20 } = limits;
  const open = new Map<string, { readonly session: PlaySession; used: number }>();
  let opening = 0;
  let isClosed = false;

  async function end(id: string): Promise<void> {
    const found = open.get(id);
    open.delete(id);
    await found?.session.close();
  }

  const timer = setInterval(() => {
    for (const [id, { used }] of open)
      if (performance.now() - used > idleMinutes * 60_000) end(id).catch(() => {});
  }, idleMinutes * 6_000).unref();

  return {
    async open(run) {
      if (open.size + opening >= most)
        throw new PlayBusyError(
          `${most} games are open already, and no more are at once: close one of them (the page does so when you leave it)`,
        );
      opening++;
      try {
        const session = await openPlaySession(run, given);
        if (isClosed) {
          await session.close();
          throw new PlayBusyError("the dashboard ends");
        }
        const id = randomBytes(12).toString("hex");
        open.set(id, { session, used: performance.now() });
        return { session: id, ...session.table };
      } finally {
        opening--;
      }
    },
    get(id) {
      const found = open.get(id);
      if (found) found.used = performance.now();
      return found?.session;
    },
    isOpen: (id) => open.has(id),
    end,
    async close() {
      isClosed = true;
      clearInterval(timer);
      await Promise.all([...open.keys()].map(end));
    },
  };
}
