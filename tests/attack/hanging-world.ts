/**
 * @file A world in which nothing is ever answered, without anything that keeps the process: `where` says which
 * call it is.
 */
import { defineEnvironment, defineWorld } from "openmanus-rl/environments";

const never = new Promise<never>(() => {});

const quick = defineEnvironment({
  name: "hanging",
  summary: "a world that hangs",
  maximumSteps: 3,
  splits: { train: 8 },
  start: () => ({}),
  intro: () => "You are here.",
  actions: () => ["go", "stay"],
  act: () => ({ text: "You are under way." }),
  expert: () => ({ act: () => "go" }),
});

export default defineWorld({
  ...quick,
  options: { where: { kind: "text", about: "Which call hangs.", default: "step" } },
  async open({ where }) {
    if (where === "open") return never;
    const world = await quick.open({});
    const environment = () => ({
      ...world.environment(),
      [where]: () => {
        console.error("hanging now");
        return never;
      },
    });
    return where === "tasks" ? { ...world, tasks: () => never } : { ...world, environment };
  },
});
