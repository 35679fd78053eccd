/**
 * @file `torchrun --no-python … openmanus-rl train`: standalone, static, and elastic with a rank killed ten times.
 */
import { join } from "node:path";
import type { Finding, InteropCheck } from "../check.ts";
import type { Peers } from "../peers.ts";
import {
  type Launched,
  launched,
  logged,
  ranksOf,
  runDifference,
  tinyModel,
  trainWords,
  undisturbed,
  until,
} from "../ranks.ts";

const KILLS = 10;
/** What a rank's death may take to end the others. Milliseconds. */
const NOTICED = 2000;

function torchrun(peers: Peers, options: readonly string[], words: readonly string[]): Launched {
  const python = join(peers.folder, "venv", "bin", "python");
  const given = ["-m", "torch.distributed.run", "--no-python", ...options];
  return launched([python, ...given, process.execPath, ...words], { OMP_NUM_THREADS: "1" });
}

const check: InteropCheck = {
  name: "torchrun",
  async run(peers, folder): Promise<Finding[]> {
    const model = await tinyModel(folder);
    const expected = join(folder, "expected");
    const iterations = 2 * KILLS;
    await undisturbed(model, expected, iterations, 2);
    const findings: Finding[] = [];
    const short = join(folder, "short");
    await undisturbed(model, short, 2, 2);
    const plain: [name: string, options: string[]][] = [
      ["standalone", ["--standalone", "--nproc-per-node=2"]],
      [
        "static",
        ["--nnodes=1", "--nproc-per-node=2", "--master-addr=127.0.0.1", "--master-port=29519"],
      ],
    ];
    for (const [name, options] of plain) {
      const run = join(folder, name);
      const { ended, output } = torchrun(peers, options, trainWords(model, run, 2));
      const code = await ended;
      findings.push({
        what: `two ranks, ${name}`,
        detail: "bitwise our launcher's",
        problem: code === 0 ? runDifference(run, short, 2) : output().slice(-2000),
      });
    }
    findings.push(...(await killed(peers, folder, model, expected, iterations)));
    return findings;
  },
};

/** Elastic: a rank is killed again and again, and the agent starts both anew. */
async function killed(
  peers: Peers,
  folder: string,
  model: string,
  expected: string,
  iterations: number,
): Promise<Finding[]> {
  const run = join(folder, "killed");
  const rendezvous = ["--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:29520", "--rdzv-id=7"];
  const options = [
    `--max-restarts=${KILLS + 2}`,
    "--nnodes=1",
    "--nproc-per-node=2",
    ...rendezvous,
  ];
  const group = torchrun(
    peers,
    [...options, "--monitor-interval=0.1"],
    trainWords(model, run, iterations),
  );
  let slowest = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const before = logged(run);
    await until(() => logged(run) > before && ranksOf(run).size === 2, "an iteration", 120, group);
    const ranks = ranksOf(run);
    const victim = Math.floor(Math.random() * 2);
    const other = ranks.get(1 - victim)!;
    const since = performance.now();
    process.kill(ranks.get(victim)!, "SIGKILL");
    await until(
      () => ![...ranksOf(run).values()].includes(other),
      "the other rank's end",
      30,
      group,
    );
    slowest = Math.max(slowest, performance.now() - since);
  }
  const code = await group.ended;
  const left = ranksOf(run).size;
  const problem =
    code !== 0
      ? `exit code ${code}:\n${group.output().slice(-2000)}`
      : left > 0
        ? `${left} ranks are left`
        : runDifference(run, expected, iterations);
  return [
    {
      what: `elastic, a rank killed ${KILLS} times`,
      detail: "bitwise the undisturbed run, no rank is left",
      problem,
    },
    {
      what: "… the other rank ends",
      detail: `after at most ${(slowest / 1000).toFixed(1)} s`,
      problem:
        slowest > NOTICED ? "expected: within 2 s, on a machine that is not busy" : undefined,
    },
  ];
}

export default check;
