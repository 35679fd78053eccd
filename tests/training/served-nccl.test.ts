/**
 * @file A run on a device whose servers are sent the weights by NCCL, with the stand-ins for all three: they play what
 * servers play that read files, one that dies is started again and sent the weights anew, and one that dies while it
 * is sent them ends the run with a sentence.
 */
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { readMetrics } from "../../src/monitoring/index.ts";
import { type StandIn, standIn } from "../generation/vllm/support.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { buildNccl } from "../support/nccl/build.ts";
import { BUILD_TIMEOUT, DEVICE, loadStandin } from "../support/standin.ts";
import { resultsOf } from "./support/processes.ts";
import { tinyConfig, trainConfig, warmTinyFolder } from "./support/runs.ts";

const parent = temporaryFolder();
const TIMEOUT = { timeout: 600_000 };
const BY_NCCL = ["actor_rollout_ref.rollout.vllm.weights=nccl"];
let warm: string;

beforeAll(async () => {
  process.env.OPENMANUS_NCCL = await buildNccl(parent);
  await loadStandin();
  warm = await warmTinyFolder(parent, { episodes: 60, epochs: 3 });
}, BUILD_TIMEOUT);

async function train(
  name: string,
  server: StandIn,
  own: readonly string[] = [],
  onIteration?: (iteration: number) => void,
) {
  const folder = join(parent, name);
  const said: string[] = [];
  await trainConfig({
    config: tinyConfig(warm, folder, [
      ...["algorithm.adv_estimator=grpo", `trainer.device=${DEVICE}`, "trainer.total_epochs=3"],
      "actor_rollout_ref.rollout.name=vllm",
      `actor_rollout_ref.rollout.vllm.executable=${server.executable}`,
      `actor_rollout_ref.rollout.vllm.weights_folder=${parent}`,
      "actor_rollout_ref.rollout.cache_bytes=100000000",
      ...own,
    ]),
    say: (text) => said.push(text),
    ...(onIteration && { onIteration }),
  });
  const metrics = readMetrics(join(folder, "metrics.jsonl")).map((line) => line.metrics);
  return { folder, said, metrics };
}

const happened = (server: StandIn) =>
  server.log().map((line) => line.replace(/^\d+ (\w+).*?(base|version-\d|\d+)?$/, "$1 $2").trim());

const results = (folder: string) => {
  const { weights, episodes } = resultsOf(folder, 3);
  return { weights, episodes };
};

describe("a run that sends weights by NCCL", () => {
  it("is the run that hands them over as files", TIMEOUT, async () => {
    const [files, sent] = [standIn(parent, "files"), standIn(parent, "sent")];
    const expected = await train("files-run", files);
    const found = await train("sent-run", sent, BY_NCCL);
    expect(results(found.folder)).toEqual(results(expected.folder));
    for (const [i, metrics] of found.metrics.entries()) {
      expect(metrics["rollout_sync/weight_version"]).toBe(i);
      expect(metrics["rollout_sync/logprob_diff_max"]).toBeLessThan(1e-4);
    }
    const [started, joined, ...took] = happened(sent);
    expect([started, joined]).toEqual(["started base", "joined"]);
    expect(took.length).toBe(3);
    expect(new Set(took).size).toBe(1);
    expect(took[0]).toMatch(/^took \d\d/);
  });

  it("sends an adapter's part in whole weights, to two servers", TIMEOUT, async () => {
    const server = standIn(parent, "lora");
    const { metrics } = await train("lora-run", server, [
      ...[...BY_NCCL, "actor_rollout_ref.model.lora_rank=4"],
      ...["actor_rollout_ref.actor.optim.lr=1e-2", "trainer.total_epochs=2"],
      "actor_rollout_ref.rollout.data_parallel_size=2",
    ]);
    for (const one of metrics) expect(one["rollout_sync/logprob_diff_max"]).toBeLessThan(1e-4);
    expect(happened(server).filter((line) => line === "joined").length).toBe(2);
  });

  it("sends them again to a server that is started again", TIMEOUT, async () => {
    const [calm, mortal] = [standIn(parent, "calm"), standIn(parent, "mortal")];
    const undisturbed = await train("calm-run", calm, BY_NCCL);
    const disturbed = await train("mortal-run", mortal, BY_NCCL, (iteration) => {
      if (iteration === 1) mortal.fault("die-in-answer");
    });
    expect(disturbed.metrics.at(-1)!["rollout_sync/restarts"]).toBe(1);
    expect(results(disturbed.folder)).toEqual(results(undisturbed.folder));
    const lines = happened(mortal).map((line) => line.split(" ")[0]);
    expect(lines.join(" ")).toBe("started joined took took dies started joined took took");
  });

  it("ends with a sentence when a server dies while it is sent them", TIMEOUT, async () => {
    const server = standIn(parent, "half");
    const failed = await train("half-run", server, BY_NCCL, (iteration) => {
      if (iteration === 1) server.fault("die-in-update");
    }).catch((error: Error) => error);
    expect((failed as Error).message).toMatch(
      /weights did not arrive over NCCL: .*The server may have some of them/,
    );
    expect(happened(server).at(-1)).toBe("dies");
  });
});
