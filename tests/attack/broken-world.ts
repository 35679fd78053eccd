/**
 * @file A world that is broken in every way we know, one way per task: the task's id says how. A task that is
 * called "healthy/…" is well, and is won with the second action, whatever that is.
 *
 * `splits`: "harmless" faults must cost one episode even where the world shares our process; "deadly" ones end
 * or freeze the process that they are in.
 */
import { writeSync } from "node:fs";
import { connect } from "node:net";
import {
  defineWorld,
  type Environment,
  type Json,
  type Observation,
  type StepResult,
  taskList,
} from "openmanus-rl/environments";

const seen = (text: string, more: object = {}): Observation => ({
  text,
  anchor: text,
  info: {},
  ...more,
});

const stepped = (more: object = {}): StepResult => ({
  observation: seen("You are under way."),
  reward: 0,
  done: false,
  won: false,
  score: 0,
  ...more,
});

const WON: StepResult = { ...stepped(), done: true, won: true, reward: 10, score: 1 };

const never = new Promise<never>(() => {});
const circle: Record<string, unknown> = {};
circle.self = circle;
const deep = (levels: number): Json => (levels === 0 ? 1 : [deep(levels - 1)]);
const hostile = () =>
  new Proxy(
    {},
    {
      get: () => {
        throw new Error("hands off");
      },
      has: () => {
        throw new Error("hands off");
      },
    },
  );

/** What the first step does, by task. What it gives is the step's result; nothing: the usual one. */
type Fault = () => unknown;

const HARMLESS: Readonly<Record<string, Fault>> = {
  throws: () => {
    throw new Error("the world threw");
  },
  "throws nothing": () => {
    throw undefined;
  },
  "throws what cannot be shown": () => {
    throw hostile();
  },
  "throws megabytes": () => {
    throw new Error("x".repeat(5_000_000));
  },
  rejects: () => Promise.reject(new Error("the world rejected")),
  hangs: () => never,
  // biome-ignore lint/suspicious/noThenProperty: it is meant to be one
  "is a thenable that hangs": () => ({ then: () => {} }),
  "gives nothing": () => null,
  "gives a proxy": hostile,
  "gives an absurd reward": () => stepped({ reward: 1e308 }),
  "gives no number": () => stepped({ reward: Number.NaN }),
  "gives a text for a reward": () => stepped({ reward: "10" }),
  "gives a score of 50": () => stepped({ score: 50 }),
  "is perhaps done": () => stepped({ done: "perhaps" }),
  "is won and lost": () => stepped({ done: true, won: true, lost: true }),
  "shows no text": () => stepped({ observation: seen(7 as never) }),
  "has a text that throws": () =>
    stepped({
      observation: {
        ...seen("x"),
        get text() {
          throw new Error("no text");
        },
      },
    }),
  "has a list that throws": () =>
    stepped({
      observation: {
        ...seen("x"),
        get admissible() {
          throw new Error("no list");
        },
      },
    }),
  "lists a million actions": () =>
    stepped({ observation: seen("x", { admissible: Array(1_000_000).fill("go") }) }),
  "lists ten megabytes": () =>
    stepped({ observation: seen("x", { admissible: ["x".repeat(10_000_000)] }) }),
  "lists numbers": () => stepped({ observation: seen("x", { admissible: [1, 2] }) }),
  "has info in a circle": () => stepped({ observation: seen("x", { info: circle }) }),
  "has deep info": () => stepped({ observation: seen("x", { info: { deep: deep(500) } }) }),
  "has huge info": () =>
    stepped({ observation: seen("x", { info: { huge: "x".repeat(5_000_000) } }) }),
  "shows two megabytes": () => stepped({ observation: seen("word ".repeat(400_000)) }),
  "rejects later": () => {
    void Promise.reject(new Error("nobody waits for this"));
  },
  "throws in a timer": () => {
    setTimeout(() => {
      throw new Error("a timer threw");
    }, 0);
  },
  "throws in a microtask": () => {
    queueMicrotask(() => {
      throw new Error("a microtask threw");
    });
  },
  "throws in a tick": () => {
    process.nextTick(() => {
      throw new Error("a tick threw");
    });
  },
  "has a socket nobody listens to": () => {
    connect(1, "127.0.0.1");
  },
};

/** Its last step starts what fails when the episode is over. */
const LATE = "throws when it is over";

/** Odd, and no reason to lose the episode. */
const ODD: Readonly<Record<string, Fault>> = {
  "shows half of a character": () => stepped({ observation: seen("\ud83d half \udc00") }),
  "changes its result later": () => {
    const result = { ...stepped() } as { reward: number; observation: Observation };
    setTimeout(() => {
      result.reward = 1e308;
      result.observation = undefined as never;
    }, 0);
    return result;
  },
  [LATE]: () => {},
  "prints nonsense": () => {
    console.log("\u001b[2J\u001b[31mprinted by the world");
  },
};

const DEADLY: Readonly<Record<string, Fault>> = {
  exits: () => process.exit(0),
  "is killed": () => process.kill(process.pid, "SIGKILL"),
  freezes: () => {
    for (;;);
  },
  "talks nonsense": () => {
    writeSync(3, "this is no answer\n");
    // It is read before anything else is begun here, which would be blamed for it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);
  },
};

const names = (faults: object) => Object.keys(faults);
const healthy = (count: number) => Array.from({ length: count }, (_, i) => `healthy/${i}`);
const SPLITS: Readonly<Record<string, readonly string[]>> = {
  harmless: [...healthy(4), ...names(HARMLESS), ...names(ODD)],
  deadly: [...healthy(4), ...names(DEADLY), ...names(HARMLESS), ...names(ODD)],
  memory: [...healthy(4), "eats memory"],
};

function eatMemory(): never {
  const eaten: number[][] = [];
  for (;;) eaten.push(Array.from({ length: 100_000 }, (_, i) => i + eaten.length));
}

const FAULTS: Readonly<Record<string, Fault>> = {
  ...HARMLESS,
  ...ODD,
  ...DEADLY,
  "eats memory": eatMemory,
};

let made = 0;

function environment(): Environment {
  made++;
  let fault: Fault | undefined;
  let steps = 0;
  return {
    reset(task) {
      fault = FAULTS[task.id];
      steps = 0;
      return seen("You are here.", { admissible: ["go", "stay"] });
    },
    async step() {
      steps++;
      if (steps > 1) {
        // Time for what the first step has started to go wrong.
        await new Promise((resolve) => setTimeout(resolve, 300));
        if (fault === FAULTS[LATE])
          setTimeout(() => {
            throw new Error("too late");
          }, 1500);
        return WON;
      }
      const result = fault?.();
      return (result === undefined ? stepped() : await result) as StepResult;
    },
    close() {
      if (made % 2 === 0) return never;
      throw new Error("it does not want to be closed");
    },
  };
}

export default defineWorld({
  name: "broken",
  summary: "a world that is broken",
  maximumSteps: 4,
  options: {},
  open: () => ({
    name: "broken",
    splits: Object.keys(SPLITS),
    tasks: (split) =>
      taskList(
        "broken",
        split,
        SPLITS[split]!.map((id) => ({ environment: "broken", split, id })),
      ),
    environment,
    expert: () => ({ act: () => "go" }),
    close: () => Promise.reject(new Error("the world does not close")),
  }),
});
