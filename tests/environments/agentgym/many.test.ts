/**
 * @file Many environments at once, over several servers.
 */
import { expect, it } from "vitest";
import { openWorld, serveWorld } from "../../../src/environments/index.ts";
import { afterTest } from "./fake-server.ts";

it("200 episodes at once on three servers are each their own", async () => {
  const local = await openWorld("textcraft");
  const servers = await Promise.all([1, 2, 3].map(() => serveWorld(local)));
  const remote = await openWorld("agentgym", {
    ...{ url: servers.map(({ url }) => url), kind: "textcraft", tasks: 200 },
  });
  afterTest(async () => {
    await remote.close?.();
    for (const server of servers) await server.close();
  });
  const tasks = await remote.tasks("train");
  const ours = await local.tasks(local.splits[0]!);
  const environments = Array.from({ length: 200 }, () => remote.environment());
  let most = 0;
  await Promise.all(
    environments.map(async (environment, number) => {
      const here = local.environment();
      const task = ours.task(number % ours.length);
      const first = await environment.reset(tasks.task(number % ours.length));
      most = Math.max(
        most,
        servers.reduce((sum, server) => sum + server.environments, 0),
      );
      expect(first.text).toBe((await here.reset(task)).text);
      const item = /using \d+ ([a-z ]+)/.exec(first.text)![1];
      // An inventory of its own, so that a mix-up would show.
      for (const action of [`get ${number + 1} ${item}`, "dance", "inventory"]) {
        const there = await environment.step(action);
        const { observation, reward, done } = await here.step(action);
        expect(there).toMatchObject({ reward, done });
        expect(there.observation.text).toBe(observation.text);
      }
    }),
  );
  expect(most).toBe(200);
  const shares = servers.map((server) => server.environments).sort();
  expect(shares).toEqual([66, 67, 67]);
  await Promise.all(environments.map(async (environment) => environment.close?.()));
  expect(servers.map((server) => server.environments)).toEqual([0, 0, 0]);
});
