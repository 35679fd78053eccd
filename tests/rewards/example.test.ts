/**
 * @file The example of a format and a reward of one's own does what it says.
 */
import { expect, it } from "vitest";
import { doubtful, scoreExperts } from "../../examples/own-reward/reward.ts";

it("scores experts in a format of its own", async () => {
  expect(doubtful.instruction({})).toMatch(
    /<doubt>what could go wrong<\/doubt> \(may be left out\)/,
  );
  const scored = await scoreExperts(3);
  expect(scored).toHaveLength(3);
  for (const { total, goal, no_looking } of scored) {
    expect(goal).toBe(1);
    expect(total).toBeCloseTo(goal! + no_looking!, 12);
  }
});
