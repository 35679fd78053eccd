/**
 * @file The same task through the training: its first episode, one in the middle, the last, beside each other.
 */
import type { EpisodePage } from "../../../src/dashboard/api.ts";
import { api, useLoaded } from "../api.ts";
import { short } from "../numbers.ts";
import { plain, Waiting } from "../parts/small.tsx";
import { linkTo } from "../route.ts";

interface TaskProps {
  readonly run: string;
  readonly task: string;
  readonly kind: string;
}

async function throughTraining(run: string, task: string, kind: string): Promise<EpisodePage[]> {
  const at = (offset: number) =>
    api.episodes(
      run,
      new URLSearchParams({ exactly: task, kind, offset: `${offset}`, limit: "1" }),
    );
  const { found } = await at(0);
  // The first, one of the middle, the last, by iterations.
  const places = new Set([0, Math.floor((found - 1) / 2), found - 1].filter((place) => place >= 0));
  const lists = await Promise.all([...places].map(at));
  const rows = lists.flatMap((list) => list.rows);
  return Promise.all(rows.map(({ id }) => api.episode(run, id, kind)));
}

export function TaskView({ run, task, kind }: TaskProps) {
  const { value: pages, error } = useLoaded(`task ${run} ${kind} ${task}`, () =>
    throughTraining(run, task, kind),
  );
  if (!pages) return <Waiting error={error} />;
  return (
    <>
      <div class="line">
        <h1>{task}</h1>
        <a href={linkTo(["run", run])}>← the run</a>
      </div>
      <div class="columns">
        {pages.map((page) => (
          <section key={page.row.id}>
            <h2>
              <a
                href={linkTo(
                  ["run", run, "episode", page.row.id],
                  kind === "training" ? {} : { kind },
                )}
              >
                iteration {page.row.step}
              </a>{" "}
              <span class={page.row.won ? "good" : "bad"}>{page.row.status}</span>{" "}
              <span class="faint">{short(page.row.reward)}</span>
            </h2>
            {page.turns.map((turn, i) => (
              <div class="turn" key={`${i}`}>
                <pre>{plain(turn.observation)}</pre>
                <pre class="agent">{plain(turn.text)}</pre>
              </div>
            ))}
            <pre>{plain(page.lastObservation)}</pre>
          </section>
        ))}
      </div>
    </>
  );
}
