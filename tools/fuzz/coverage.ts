/**
 * @file Which blocks of code an input reached, by V8's own counters. They cost some milliseconds to read, whatever was run
 * before, so many inputs are run between two readings, and only where something new appears is it found out by which.
 */
import { type Profiler, Session } from "node:inspector";

export interface CoverageMeter {
  /** What was reached since the last call, and never before it was taken for known. */
  newBlocks(): string[];
  know(blocks: Iterable<string>): void;
  /** What was reached so far comes of loading, and is not counted. */
  begin(): void;
  readonly blocks: number;
  readonly functions: number;
}

/** To be started before the code is loaded that is measured. */
export function startCoverage(isMeasured: (url: string) => boolean): CoverageMeter {
  const session = new Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  const known = new Set<string>();
  const functions = new Set<string>();
  let loaded = 0;
  const measured = new Map<string, boolean>();
  const meter: CoverageMeter = {
    begin() {
      this.know(this.newBlocks());
      loaded = known.size;
      functions.clear();
    },
    newBlocks() {
      let taken: Profiler.ScriptCoverage[] = [];
      // In the same thread the answer comes at once.
      session.post("Profiler.takePreciseCoverage", (error, answer) => {
        if (!error) taken = answer.result;
      });
      const found: string[] = [];
      for (const { scriptId, url, functions: covered } of taken) {
        if (!measured.has(scriptId)) measured.set(scriptId, isMeasured(url));
        if (!measured.get(scriptId)) continue;
        for (const { ranges } of covered)
          for (const [i, { startOffset, endOffset, count }] of ranges.entries()) {
            if (count === 0) continue;
            const block = `${scriptId}:${startOffset}:${endOffset}`;
            if (i === 0) functions.add(block);
            if (!known.has(block)) found.push(block);
          }
      }
      return found;
    },
    know(blocks) {
      for (const block of blocks) known.add(block);
    },
    get blocks() {
      return known.size - loaded;
    },
    get functions() {
      return functions.size;
    },
  };
  return meter;
}
