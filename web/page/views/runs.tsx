/**
 * @file The table of runs.
 */
import { useState } from "preact/hooks";
import type { RunRow } from "../../../src/dashboard/api.ts";
import { api, useLoaded } from "../api.ts";
import { duration, shortPath } from "../numbers.ts";
import { RateText, Sparkline, State, Waiting } from "../parts/small.tsx";
import { linkTo } from "../route.ts";

export function RunsView() {
  const { value: runs, error } = useLoaded("runs", api.runs, () => true);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  if (!runs) return <Waiting error={error} />;
  if (runs.length === 0)
    return (
      <p>
        There is no run here yet. <code>openmanus-rl train</code> makes one (in <code>runs/</code>);
        it appears here by itself.
      </p>
    );
  const choose = (id: string, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  return (
    <>
      <div class="line">
        <h1>Runs</h1>
        {chosen.size > 1 && (
          <a class="button" href={linkTo(["compare"], { runs: [...chosen].join(",") })}>
            compare {chosen.size}
          </a>
        )}
      </div>
      <div class="scroll">
        <table class="rows">
          <thead>
            <tr>
              <th aria-label="choose" />
              {[
                "run",
                "state",
                "success",
                "",
                "iterations",
                "time",
                "algorithm",
                "world",
                "model",
              ].map((name) => (
                <th key={name}>{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <Row key={run.id} run={run} isChosen={chosen.has(run.id)} choose={choose} />
            ))}
          </tbody>
        </table>
      </div>
      <p class="faint">Choose several to compare their curves.</p>
    </>
  );
}

function Row(props: {
  run: RunRow;
  isChosen: boolean;
  choose: (id: string, isChosen: boolean) => void;
}) {
  const { run, isChosen, choose } = props;
  return (
    <tr>
      <td>
        <input
          type="checkbox"
          aria-label={`choose ${run.title}`}
          checked={isChosen}
          onChange={(event) => choose(run.id, event.currentTarget.checked)}
        />
      </td>
      <td>
        <a href={linkTo(["run", run.id])}>{shortPath(run.folder)}</a>
        {run.seed !== "" && <span class="faint"> seed {run.seed}</span>}
      </td>
      <td>
        <State state={run.state} />
      </td>
      <td>
        <RateText rate={run.success} />
      </td>
      <td>
        <Sparkline values={run.curve} />
      </td>
      <td class="number">
        {run.iterations}
        {run.total !== undefined && <span class="faint"> / {run.total}</span>}
      </td>
      <td class="number">{duration(run.minutes)}</td>
      <td>{run.algorithm}</td>
      <td>{shortPath(run.world)}</td>
      <td>{shortPath(run.model)}</td>
    </tr>
  );
}
