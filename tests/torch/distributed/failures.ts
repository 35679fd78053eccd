/**
 * @file Ranks that meet one failure after the other that leaves all processes alive: each time they
 * make a new group on the same port, break it, and say how the operation ended.
 */
import { ones, type ProcessGroup, tensor, tidy, zeros } from "../../../src/torch/index.ts";
import { attempt, join, say, sleep } from "./worker.ts";

const TIMEOUT = 1500;
/** So much later that it is too late on a busy machine too. */
const TOO_LATE = 3500;

const failures: Record<string, (group: ProcessGroup) => void> = {
  "a rank never calls": (group) => {
    group.barrier();
    if (group.rank === 3) sleep(TOO_LATE);
    group.allReduce(ones([3]));
  },
  "another shape": (group) => {
    group.allReduce(ones([2, group.rank === 1 ? 4 : 3]));
  },
  "another dtype": (group) => {
    group.allGather(zeros([2], { dtype: group.rank === 0 ? "int64" : "float32" }));
  },
  "another operation": (group) => {
    if (group.rank === 2) group.broadcast(ones([3]));
    else group.allReduce(ones([3]));
  },
  "another reduction": (group) => {
    group.allReduce(ones([3]), group.rank === 3 ? "maximum" : "sum");
  },
  "another root": (group) => {
    group.broadcast(ones([3]), group.rank === 1 ? 2 : 0);
  },
  "two and two": (group) => {
    if (group.rank < 2) group.barrier();
    else group.allGatherUneven(ones([3]));
  },
  "nobody sends": (group) => {
    if (group.rank === 1) group.receive(2, 4);
    else sleep(TOO_LATE);
    group.barrier();
  },
  "received into another shape": (group) => {
    if (group.rank === 0) group.send(ones([4]), 3);
    if (group.rank === 3) group.receiveInto(zeros([3]), 0);
    group.barrier();
  },
  "a rank leaves": (group) => {
    group.barrier();
    if (group.rank === 2) group.destroy();
    else group.allReduce(ones([3]));
  },
};

for (const [name, failure] of Object.entries(failures)) {
  const group = join(TIMEOUT);
  const outcome = attempt(() => tidy(() => failure(group)));
  const again = attempt(() => {
    if (!outcome.ok) group.barrier();
  });
  say("failure", { name, outcome, again });
  group.destroy();
}

// After all that, a group still works.
const group = join(20_000);
tidy(() => say("sum", group.allReduce(tensor(group.rank)).item()));
