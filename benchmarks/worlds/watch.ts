/**
 * @file Time in two ways: by the clock, and that all threads of this process were on cores, V8's own included. The second is
 * what Python's process_time counts, and means something on a machine that does other work, too.
 */

export interface Seconds {
  readonly clock: number;
  readonly core: number;
}

/** Begins now; what it gives says how long ago that was. */
export function coresSince(): () => Seconds {
  const begun = performance.now();
  const used = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(used);
    return { clock: (performance.now() - begun) / 1000, core: (user + system) / 1e6 };
  };
}
