/**
 * @file What is recorded of agents that do whatever they like with their history is what was drawn, token by token.
 * (1,000 sessions: npm run bench -- gateway.)
 */
import { expect, it } from "vitest";
import { checkSessions, listening, playSessions } from "../../benchmarks/gateway/sessions.ts";
import { served, tinyGateway } from "./support.ts";

const { tiny, engine, newGateway } = tinyGateway();

it("trains on nothing that was not sampled, with the training path's log-probabilities", async () => {
  const { generator, answers } = listening(engine);
  const gateway = newGateway({ generator });
  const url = await served(gateway);
  const sessions = await playSessions(gateway, url, 40);
  const found = checkSessions(sessions, answers, tiny.chat, tiny.model, 1e-5);
  expect(found.sessions).toBe(40);
  expect(found.replies).toBeGreaterThan(150);
  expect(found.branches).toBeGreaterThan(60);
  expect(found.largestDifference).toBeLessThanOrEqual(1e-5);
  // A random model draws tokens that no text is made of: text-only recording would lose them.
  expect(found.drifted.replies).toBeGreaterThan(0);
  const { forks } = gateway.metrics;
  for (const reason of ["parallel call", "asked again", "edited reply", "edited history"])
    expect(forks[reason], reason).toBeGreaterThan(0);
  expect(forks.template).toBe(0);
}, 180_000);
