/**
 * @file Does a list of jobs, several at a time.
 */

/** Runs `work` over the items, `limit` at a time; the first failure stops the rest and is thrown. */
export async function forEachInParallel<Item>(
  items: readonly Item[],
  limit: number,
  stop: AbortController,
  work: (item: Item, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const failures: unknown[] = [];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      try {
        await work(item, stop.signal);
      } catch (error) {
        failures.push(error);
        queue.length = 0;
        stop.abort();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, limit) }, worker));
  if (failures.length > 0) throw failures[0];
}
