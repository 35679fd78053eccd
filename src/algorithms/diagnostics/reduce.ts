/**
 * @file Metrics of several parts as metrics of the whole.
 *
 * `addMetrics` is for the losses of this room, whose metrics are shares of a mean over the mini-batch:
 * they add up over micro-batches and ranks. `reduceMetrics` is verl's rule for the rest, for instance
 * over mini-batches and epochs: a name with "max" in it takes the largest, one with "min" the
 * smallest, others the mean.
 */

export type Metrics = Record<string, number>;

export function addMetrics(parts: Iterable<Metrics>): Metrics {
  const total: Metrics = {};
  for (const part of parts)
    for (const [name, value] of Object.entries(part)) total[name] = (total[name] ?? 0) + value;
  return total;
}

export function reduceMetrics(parts: Iterable<Metrics>): Metrics {
  const values = new Map<string, number[]>();
  for (const part of parts)
    for (const [name, value] of Object.entries(part)) {
      const list = values.get(name);
      if (list) list.push(value);
      else values.set(name, [value]);
    }
  const reduced: Metrics = {};
  for (const [name, list] of values) reduced[name] = reduceList(name, list);
  return reduced;
}

function reduceList(name: string, values: readonly number[]): number {
  if (name.includes("max")) return values.reduce((most, value) => Math.max(most, value));
  if (name.includes("min")) return values.reduce((least, value) => Math.min(least, value));
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
