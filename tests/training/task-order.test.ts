/**
 * @file The order of training tasks: a split without any is told to the person who chose it.
 */
import { expect, it } from "vitest";
import { EnvironmentError, taskSet } from "../../src/environments/index.ts";
import { taskOrder } from "../../src/training/index.ts";

it("a split without tasks", () => {
  const none = taskSet({
    ...{ environment: "maze", split: "train", length: 0 },
    task: () => expect.unreachable(),
  });
  expect(() => taskOrder(none, 1, true)).toThrow(EnvironmentError);
  expect(() => taskOrder(none, 1, true)).toThrow(
    'maze: the split "train" has no tasks to train on',
  );
});
