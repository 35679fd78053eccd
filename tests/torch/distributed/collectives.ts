/**
 * @file A rank that runs every operation of a process group and compares with plain JavaScript.
 */
import { deepEqual, equal, throws } from "node:assert/strict";
import {
  type Dtype,
  fromTypedArray,
  type GroupReduction,
  memory,
  networkTraffic,
  type ProcessGroup,
  pendingStatistics,
  type Tensor,
  tensor,
  tidy,
  zeros,
} from "../../../src/torch/index.ts";
import { join, say } from "./worker.ts";

const SIZES = [1, 3, 1_000_003];
const DTYPES: Dtype[] = ["float32", "float64", "bfloat16", "int64", "uint8", "bool"];

const group = join(20_000);
const { rank, worldSize } = group;
const ranks = Array.from({ length: worldSize }, (_, i) => i);

/** The values of `value` repeat after so many places. */
const PERIOD = 33;

/** What rank `r` has at place `i`: small whole numbers, exact in every dtype. */
function value(dtype: Dtype, r: number, i: number): number {
  return dtype === "bool" ? Number((i * 7 + r) % 3 === 0) : (i * 7 + r * 3) % 11;
}

function make(dtype: Dtype, size: number, r = rank): Tensor {
  const values = new Float64Array(size);
  for (let i = 0; i < size; i++) values[i] = value(dtype, r, i);
  return fromTypedArray(values, [size], { dtype });
}

function expectValues(got: Tensor, dtype: Dtype, want: (i: number) => number): void {
  equal(got.dtype, dtype);
  const values = got.toNumbers();
  for (let i = 0; i < values.length; i++)
    if (values[i] !== want(i)) throw new Error(`place ${i}: ${values[i]} instead of ${want(i)}`);
}

/** What the reduction gives at each place. */
function reduced(dtype: Dtype, reduction: GroupReduction): (i: number) => number {
  const places = Array.from({ length: PERIOD }, (_, i) => reducedAt(dtype, reduction, i));
  return (i) => places[i % PERIOD]!;
}

function reducedAt(dtype: Dtype, reduction: GroupReduction, i: number): number {
  const values = ranks.map((r) => value(dtype, r, i));
  const sum = values.reduce((a, b) => a + b, 0);
  const product = values.reduce((a, b) => a * b, 1);
  if (reduction === "minimum") return Math.min(...values);
  if (reduction === "maximum") return Math.max(...values);
  if (reduction === "average") return sum / worldSize;
  if (dtype === "bool") return reduction === "sum" ? Math.min(1, sum) : product;
  const exact = reduction === "sum" ? sum : product;
  if (dtype === "uint8") return exact % 256;
  return dtype === "bfloat16" ? tensor(exact, { dtype }).item() : exact;
}

/** Every check runs on all ranks, in this order. */
const checks: Record<string, () => void> = {
  "allReduce, odd sizes and dtypes": () => {
    for (const dtype of DTYPES)
      for (const size of SIZES) {
        const x = make(dtype, size);
        equal(group.allReduce(x), x);
        expectValues(x, dtype, reduced(dtype, "sum"));
      }
  },
  "allReduce, all reductions": () => {
    for (const dtype of [...DTYPES, "float16", "int32", "int16", "int8"] as Dtype[])
      for (const reduction of ["sum", "average", "product", "minimum", "maximum"] as const) {
        const average = reduction === "average";
        if (average && !dtype.includes("float")) continue;
        if (dtype === "int8" && reduction === "product") continue; // beyond 127
        const x = group.allReduce(make(dtype, 13), reduction);
        expectValues(x, dtype, reduced(dtype, reduction));
      }
  },
  "allReduce of bfloat16 adds in float32": () => {
    // In bfloat16, 256 + 1 is 256 again; in float32 the sum is 259, and 260 is the nearest.
    const x = tensor([rank === 0 ? 256 : 1], { dtype: "bfloat16" });
    equal(group.allReduce(x).item(), 260);
  },
  "allReduce gives all ranks the same bits, every time": () => {
    const values = Float32Array.from({ length: 10_007 }, (_, i) => Math.sin(i * 1.37 + rank));
    const once = group.allReduce(fromTypedArray(values)).toTypedArray();
    const again = group.allReduce(fromTypedArray(values)).toTypedArray();
    deepEqual(once, again);
    const [first] = group.allGatherObject(once);
    deepEqual(once, first);
  },
  "allReduce of strided, empty and scalar tensors": () => {
    const whole = zeros([4, 6]);
    const part = whole.transpose(0, 1).narrow(0, 1, 3);
    part.copy_(tensor(ranks.slice(0, 3).map((row) => [0, 1, 2, 3].map((i) => row + i + rank))));
    group.allReduce(part);
    const want = [0, 1, 2].map((row) => [0, 1, 2, 3].map((i) => 4 * (row + i) + 6));
    deepEqual(part.toArray(), want);
    deepEqual(whole.narrow(1, 0, 1).toArray(), [[0], [0], [0], [0]]);
    deepEqual(group.allReduce(zeros([0, 3])).shape, [0, 3]);
    equal(group.allReduce(tensor(rank)).item(), 6);
  },
  "allReduce of a parameter": () => {
    const parameter = tensor([rank, 1]).requiresGrad_();
    group.allReduce(parameter, "average");
    deepEqual(parameter.toArray(), [1.5, 1]);
    equal(parameter.requiresGrad, true);
  },
  "broadcast, odd sizes and dtypes": () => {
    for (const dtype of DTYPES)
      for (const [i, size] of SIZES.entries()) {
        const root = i + 1;
        expectValues(group.broadcast(make(dtype, size), root), dtype, (at) =>
          value(dtype, root, at),
        );
      }
    deepEqual(group.broadcast(zeros([0])).shape, [0]);
    const square = tensor([
      [rank, 1],
      [2, 3],
    ]).t();
    group.broadcast(square, 3);
    deepEqual(square.toArray(), [
      [3, 2],
      [1, 3],
    ]);
  },
  "allGather, odd sizes and dtypes": () => {
    for (const dtype of DTYPES)
      for (const size of SIZES) {
        const all = group.allGather(make(dtype, size));
        deepEqual(all.shape, [worldSize, size]);
        expectValues(all, dtype, (i) => value(dtype, Math.floor(i / size), i % size));
      }
    deepEqual(group.allGather(tensor(rank)).toArray(), [0, 1, 2, 3]);
    deepEqual(group.allGather(zeros([2, 0])).shape, [4, 2, 0]);
  },
  allGatherUneven: () => {
    const parts = group.allGatherUneven(zeros([rank * 2, 3], { dtype: "int64" }).add(rank));
    deepEqual(
      parts.map((part) => part.shape),
      ranks.map((r) => [r * 2, 3]),
    );
    deepEqual(
      parts[2]!.toArray(),
      Array.from({ length: 4 }, () => [2, 2, 2]),
    );
    deepEqual(
      group.allGatherUneven(zeros([0])).map((part) => part.shape),
      ranks.map(() => [0]),
    );
  },
  "reduceScatter, equal and own sizes": () => {
    for (const dtype of DTYPES) {
      const input = make(dtype, 20);
      const before = input.toNumbers();
      const equalPart = group.reduceScatter(input);
      deepEqual(equalPart.shape, [5]);
      const sum = reduced(dtype, "sum");
      expectValues(equalPart, dtype, (i) => sum(rank * 5 + i));
      const sizes = [7, 0, 12, 1];
      const own = group.reduceScatter(input, "maximum", sizes);
      deepEqual(own.shape, [sizes[rank]]);
      const maximum = reduced(dtype, "maximum");
      expectValues(own, dtype, (i) => maximum([0, 7, 7, 19][rank]! + i));
      deepEqual(input.toNumbers(), before);
    }
    const rows = group.reduceScatter(zeros([8, 3], { dtype: "float16" }).add(rank), "average");
    deepEqual(rows.toArray(), [
      [1.5, 1.5, 1.5],
      [1.5, 1.5, 1.5],
    ]);
  },
  "reduceScatter sends half of what allReduce does": () => {
    const size = 400_000;
    const sentBy = (body: () => void): number => {
      group.barrier();
      const before = networkTraffic().sent;
      body();
      group.barrier();
      return networkTraffic().sent - before;
    };
    const bytes = 4 * size;
    const share = (worldSize - 1) / worldSize;
    const tolerance = 0.05 * bytes;
    const scattered = sentBy(() => group.reduceScatter(make("float32", size)).dispose());
    equal(Math.abs(scattered - bytes * share) < tolerance, true, `${scattered} of ${bytes}`);
    const reducedBytes = sentBy(() => group.allReduce(make("float32", size)));
    equal(Math.abs(reducedBytes - 2 * bytes * share) < 2 * tolerance, true, `${reducedBytes}`);
    const gathered = sentBy(() => group.allGather(make("float32", size / worldSize)).dispose());
    equal(Math.abs(gathered - bytes * share) < tolerance, true, `${gathered}`);
  },
  "operations that are only begun": () => {
    const inputs = [3, 1_000_003, 20].map((size) => make("float32", size));
    const gathers = inputs.map((input) => group.startAllGather(input));
    const scatter = group.startReduceScatter(inputs[2]!, "maximum", [7, 0, 12, 1]);
    const sum = group.startAllReduce(make("float64", 5));
    // What blocks comes behind all that was begun.
    expectValues(group.allReduce(make("int64", 7)), "int64", reduced("int64", "sum"));
    equal(sum.isDone, true);
    expectValues(sum.wait(), "float64", reduced("float64", "sum"));
    for (const [k, gather] of gathers.entries()) {
      const size = inputs[k]!.numel;
      const all = gather.wait();
      deepEqual(all.shape, [worldSize, size]);
      const period = ranks.map((r) => (i: number) => value("float32", r, i));
      expectValues(all.view([-1]), "float32", (i) => period[Math.floor(i / size)]!(i % size));
    }
    const maximum = reduced("float32", "maximum");
    expectValues(scatter.wait(), "float32", (i) => maximum([0, 7, 7, 19][rank]! + i));
    const wrong = group.startReduceScatter(tensor([1, 2, 3]));
    throws(() => wrong.wait(), /give the size of each rank's part/);
    throws(() => wrong.wait(), /waited for already/);
    const { operations, seconds, waitedSeconds } = pendingStatistics();
    equal(operations >= 5 && seconds > 0 && waitedSeconds >= 0, true);
  },
  subgroups: () => {
    const pair = rank % 2 === 0 ? [0, 2] : [3, 1];
    const own = group.subgroup(pair);
    deepEqual([own.rank, own.worldSize], [pair.indexOf(rank), 2]);
    deepEqual(own.allGather(tensor(rank)).toArray(), pair);
    const inner = own.subgroup([own.rank]);
    deepEqual(inner.allGather(tensor(rank)).toArray(), [rank]);
    // Groups do not disturb each other.
    const begun = own.startAllReduce(make("float32", 1_000_003));
    expectValues(group.allReduce(make("float32", 11)), "float32", reduced("float32", "sum"));
    const [a, b] = pair as [number, number];
    expectValues(begun.wait(), "float32", (i) => value("float32", a, i) + value("float32", b, i));
    inner.destroy();
    own.destroy();
    throws(() => group.subgroup([(rank + 1) % 4]), /this rank \(\d\) among them/);
    throws(
      () => group.subgroup(rank === 0 ? [0, 1] : [rank]),
      /rank 0 gives \[0, 1\], rank 1 gives \[1\]/,
    );
    expectValues(group.allReduce(make("float32", 11)), "float32", reduced("float32", "sum"));
  },
  "send and receive": () => {
    const next = (rank + 1) % worldSize;
    const previous = (rank + 3) % worldSize;
    for (const dtype of DTYPES)
      for (const size of SIZES) {
        const mine = make(dtype, size);
        // Both sides must meet: even ranks send first.
        if (rank % 2 === 0) group.send(mine, next, 5);
        const got = group.receive(previous, 5);
        if (rank % 2 === 1) group.send(mine, next, 5);
        expectValues(got, dtype, (i) => value(dtype, previous, i));
      }
    if (rank === 0) group.send(zeros([3, 0, 2]), 1);
    if (rank === 1) deepEqual(group.receive(0).shape, [3, 0, 2]);
    if (rank === 2) group.send(tensor([[1, 2, 3]]), 3, 9);
    if (rank === 3) {
      const column = zeros([3, 1]);
      group.receiveInto(column.t(), 2, 9);
      deepEqual(column.toArray(), [[1], [2], [3]]);
    }
  },
  barrier: () => {
    // Every rank says when it came; nobody may leave before the last came.
    const came = Date.now() + rank * 60;
    while (Date.now() < came) {}
    group.barrier();
    const left = Date.now();
    for (const other of group.allGatherObject({ came, left }))
      equal(left >= other.came, true, "a rank left the barrier too early");
  },
  objects: () => {
    const value = { run: "a", losses: [0.5, Number.NaN, Number.POSITIVE_INFINITY], none: null };
    const got = group.broadcastObject(rank === 2 ? value : undefined, 2);
    deepEqual(got, value);
    deepEqual(
      group.allGatherObject({ rank, text: "ü".repeat(rank * 1000) }),
      ranks.map((r) => ({ rank: r, text: "ü".repeat(r * 1000) })),
    );
  },
  "wrong arguments are errors of this rank alone": () => {
    const wrong = (body: () => unknown): string => {
      try {
        body();
      } catch (error) {
        return (error as Error).message;
      }
      throw new Error("expected an error");
    };
    const three = tensor([1, 2, 3]);
    const integers = tensor([1, 2], { dtype: "int64" });
    const messages = [
      wrong(() => group.allReduce(three, "mean" as GroupReduction)),
      wrong(() => group.allReduce(integers, "average")),
      wrong(() => group.allReduce(three.view([3, 1]).expand([3, 2]))),
      wrong(() => group.broadcast(three, 4)),
      wrong(() => group.send(three, rank)),
      wrong(() => group.reduceScatter(three)),
      wrong(() => group.reduceScatter(three, "sum", [1, 1, 1, 1])),
      wrong(() => group.allGatherUneven(tensor(1))),
      wrong(() => group.allGatherObject(() => 1)),
    ];
    if (rank === 0) say("wrong", messages);
    equal(group.allReduce(tensor(1)).item(), 4);
  },
};

for (const [name, check] of Object.entries(checks)) {
  const before = memory().tensors;
  try {
    tidy(check);
    equal(memory().tensors, before, "tensors were left behind");
    say("check", { name });
  } catch (error) {
    say("check", { name, problem: (error as Error).message });
    // The ranks are out of step now.
    process.exit(1);
  }
}
leave(group);

function leave(last: ProcessGroup): void {
  last.destroy();
  last.destroy();
  try {
    last.barrier();
  } catch (error) {
    say("destroyed", (error as Error).message);
  }
}
