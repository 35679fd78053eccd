/**
 * @file `mpirun -np 2 openmanus-rl train`, where there is an mpirun (Debian: openmpi-bin).
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import type { Finding, InteropCheck } from "../check.ts";
import { launched, ranksOf, runDifference, tinyModel, trainWords, undisturbed } from "../ranks.ts";

const check: InteropCheck = {
  name: "mpirun",
  async run(_peers, folder): Promise<Finding[]> {
    const what = "two ranks under Open MPI";
    if (spawnSync("mpirun", ["--version"]).status !== 0)
      return [{ what, detail: "skipped: there is no mpirun (apt-get install openmpi-bin)" }];
    const model = await tinyModel(folder);
    const [run, expected] = [join(folder, "mpi"), join(folder, "expected")];
    await undisturbed(model, expected, 2, 2);
    const root = process.getuid?.() === 0 ? ["--allow-run-as-root"] : [];
    const { ended, output } = launched([
      ...["mpirun", ...root, "--oversubscribe", "-np", "2", process.execPath],
      ...trainWords(model, run, 2),
    ]);
    const code = await ended;
    const left = ranksOf(run).size;
    const problem =
      code !== 0
        ? output().slice(-2000)
        : left > 0
          ? `${left} ranks are left`
          : runDifference(run, expected, 2);
    return [{ what, detail: "bitwise our launcher's", problem }];
  },
};

export default check;
