/**
 * @file Whole episodes, independent of each other; the best one counts. With the score as the judge the first that
 * wins ends it (the world has said so); any other judge chooses among all of them, and is not told which have won.
 */
import { scoreJudge } from "../judge.ts";
import { backUp, resultOf } from "../tree.ts";
import { hasWon, type Strategy } from "./strategy.ts";

export const bestOfN: Strategy = async ({ tree, settings, judge, judgedValue }) => {
  const { width, branches } = settings;
  for (let begun = 0; begun < width && tree.budget.isLeft; begun += branches) {
    const count = Math.min(branches, width - begun);
    const leaves = await Promise.all(
      Array.from({ length: count }, () => tree.playOut(tree.root, true)),
    );
    for (const leaf of leaves) {
      backUp(leaf, resultOf(leaf.line));
      await judgedValue(leaf, judge !== scoreJudge);
    }
    if (judge === scoreJudge && hasWon(tree)) return;
  }
};
