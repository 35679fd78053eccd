/**
 * @file TensorBoard's own reader reads our event files: also one that was cut back when a run was resumed.
 */
import { join } from "node:path";
import { openTensorBoard } from "../../../src/monitoring/index.ts";
import type { InteropCheck } from "../check.ts";

const NAMES = ["actor/pg_loss", "episode/success_rate", "val/größe", "perf/max memory (GB)"];
const TIME = 1_700_000_000_500;

/** Of every size that a float has. */
function loggedValue(step: number, name: number): number {
  return (name % 2 === 0 ? -1 : 1) * 10 ** ((step % 40) - 20) * (1 + step / 7);
}

const check: InteropCheck = {
  name: "tensorboard",
  async run(peers, place) {
    const folder = join(place, "events");
    const log = (from: number, to: number, after: number | undefined) => {
      const board = openTensorBoard(folder, { now: () => TIME });
      if (after !== undefined) board.truncateAfter(after);
      for (let step = from; step <= to; step++)
        board.log(step, Object.fromEntries(NAMES.map((name, i) => [name, loggedValue(step, i)])));
      board.close();
    };
    log(0, 150, undefined);
    log(101, 200, 100);
    const read = await peers.ask<Record<string, [number, number, number][]>>(
      "tensorboard_reads.py",
      place,
      { folder },
    );
    const wrong = NAMES.flatMap((name, i) => {
      const found = read[name] ?? [];
      if (found.length !== 201) return [`${name}: ${found.length} values, expected 201`];
      return found.flatMap(([step, value, time], place) => {
        const isRight =
          step === place &&
          Math.fround(value) === Math.fround(loggedValue(step, i)) &&
          time === TIME / 1000;
        return isRight ? [] : [`${name}: step ${step} is ${value} at ${time}`];
      });
    });
    const strangers = Object.keys(read).filter((name) => !NAMES.includes(name));
    return [
      {
        what: "reads our event file, resumed once",
        detail: `${NAMES.length} names × 201 steps`,
        problem: [...wrong, ...strangers].slice(0, 5).join("\n") || undefined,
      },
    ];
  },
};

export default check;
