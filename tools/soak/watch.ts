/**
 * @file Somebody who looks at the dashboard all the time: pages of every run, its episodes, and the stream of changes, now and
 * then left in the middle.
 */
import { setTimeout as sleep } from "node:timers/promises";

/** What is looked at of a run, behind its address. */
const PARTS = ["", "/metrics", "/episodes", "/episodes?kind=validation"];

/** Until `signal` says to stop. */
export async function watchDashboard(url: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    // Not AbortSignal.any: what it makes is kept by a signal that lives as long as this one.
    const looking = new AbortController();
    const stop = () => looking.abort();
    signal.addEventListener("abort", stop, { once: true });
    const late = setTimeout(stop, 5000);
    try {
      await look(url, looking.signal);
    } catch {
      // It may be busy; whoever looks tries again.
    } finally {
      clearTimeout(late);
      signal.removeEventListener("abort", stop);
    }
    await sleep(500);
  }
}

async function look(url: string, signal: AbortSignal): Promise<void> {
  const get = async (path: string) => (await fetch(`${url}${path}`, { signal })).text();
  await get("/");
  const runs = JSON.parse(await get("/api/runs")) as { readonly id: string }[];
  for (const { id } of runs) for (const part of PARTS) await get(`/api/runs/${id}${part}`);
  const stream = await fetch(`${url}/api/events`, { signal });
  const reader = stream.body!.getReader();
  await Promise.race([reader.read(), sleep(1000)]);
  await reader.cancel();
}
