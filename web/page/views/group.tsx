/**
 * @file A group: the episodes of one task beside each other, where they part, and which turns GiGPO compared.
 */
import { useState } from "preact/hooks";
import type { StepGroupPage } from "../../../src/dashboard/api.ts";
import { api, useLoaded } from "../api.ts";
import { short } from "../numbers.ts";
import { plain, Waiting } from "../parts/small.tsx";
import { linkTo } from "../route.ts";

type Episodes = StepGroupPage["episodes"];

export function GroupView({ run, group }: { run: string; group: string }) {
  const { value: page, error } = useLoaded(`group ${run} ${group}`, () => api.group(run, group));
  const [shown, setShown] = useState<number>();
  if (!page) return <Waiting error={error} />;
  const { episodes } = page;
  if (episodes.length === 0) return <p>There is no such group.</p>;
  const parting = whereTheyPart(episodes);
  const turns = Math.max(...episodes.map((one) => one.turns.length));
  return (
    <>
      <div class="line">
        <h1>{episodes[0]!.row.task}</h1>
        <a href={linkTo(["run", run])}>← the run</a>
      </div>
      <p class="faint">
        iteration {episodes[0]!.row.step} · {episodes.length} episodes ·{" "}
        {parting < turns ? `they part in turn ${parting + 1}` : "they all do the same"}
        {isCompared(episodes) &&
          " · turns of one colour were begun in the same state, and are compared with each other"}
      </p>
      <div class="scroll">
        <table class="group">
          <thead>
            <tr>
              <th>episode</th>
              {Array.from({ length: turns }, (_, i) => (
                <th key={`${i}`} class={i === parting ? "parting" : ""}>
                  {i + 1}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {episodes.map(({ row, turns: own }) => (
              <tr key={row.id}>
                <th>
                  <a href={linkTo(["run", run, "episode", row.id])}>{row.id.split("#").at(-1)}</a>{" "}
                  <span class={row.won ? "good" : "faint"}>{row.status}</span>{" "}
                  <span class="number">{short(row.reward)}</span>
                </th>
                {own.map((turn, i) => (
                  <td
                    key={`${i}`}
                    class={shown !== undefined && turn.stepGroup === shown ? "same" : ""}
                    style={{ borderColor: sharedColour(episodes, turn.stepGroup) }}
                    title={turn.anchor.slice(0, 2000)}
                    onMouseEnter={() => setShown(turn.stepGroup)}
                    onMouseLeave={() => setShown(undefined)}
                  >
                    <div>{plain(turn.action ?? "—")}</div>
                    {turn.advantage !== null && (
                      <div class="faint">
                        A <span class={toneOf(turn.advantage)}>{short(turn.advantage)}</span>
                        {turn.stepPart !== null && (
                          <>
                            {" "}
                            = {short(turn.episodePart)} + {short(turn.stepPart)}
                          </>
                        )}
                      </div>
                    )}
                    {turn.stepGroup !== undefined && (
                      <div class="faint">return {short(turn.return)}</div>
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

const toneOf = (value: number) => (value > 0 ? "good" : value < 0 ? "bad" : "");

const isCompared = (episodes: Episodes) =>
  episodes.some(({ turns }) => turns.some(({ stepGroup }) => stepGroup !== undefined));

/** The first turn in which not all do the same. */
export function whereTheyPart(episodes: Episodes): number {
  const most = Math.max(...episodes.map(({ turns }) => turns.length));
  for (let turn = 0; turn < most; turn++)
    if (new Set(episodes.map(({ turns }) => turns[turn]?.action)).size > 1) return turn;
  return most;
}

/** Turns that are alone in their state have none. */
function sharedColour(episodes: Episodes, group: number | undefined): string {
  if (group === undefined) return "transparent";
  const numbers = episodes.flatMap(({ turns }) =>
    turns.flatMap(({ stepGroup }) => stepGroup ?? []),
  );
  const shared = [...new Set(numbers)].filter(
    (one) => numbers.filter((other) => other === one).length > 1,
  );
  const at = shared.indexOf(group);
  return at < 0 ? "transparent" : `var(--curve-${(at % 8) + 1})`;
}
