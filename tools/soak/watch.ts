/**
 * @file Somebody who looks at the dashboard all the time: pages, and the stream of changes, now and then left in the middle.
 */
import { setTimeout as sleep } from "node:timers/promises";

const PATHS = ["/", "/api/runs", "/api/runs/lights", "/api/runs/lights/metrics"];

/** Until `signal` says to stop. */
export async function watchDashboard(url: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const looking = AbortSignal.any([signal, AbortSignal.timeout(5000)]);
    try {
      for (const path of PATHS) await (await fetch(`${url}${path}`, { signal: looking })).text();
      const stream = await fetch(`${url}/api/events`, { signal: looking });
      const reader = stream.body!.getReader();
      await Promise.race([reader.read(), sleep(1000)]);
      await reader.cancel();
    } catch {
      // It may be busy; whoever looks tries again.
    }
    await sleep(500);
  }
}
