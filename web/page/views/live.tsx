/**
 * @file The newest episodes of a run while they are played, token by token.
 */
import { api, useLoaded } from "../api.ts";
import { type Growing, useGrowing } from "../live.ts";
import { Following, GrowingEpisodePart } from "../parts/growing.tsx";
import { State } from "../parts/small.tsx";
import { linkTo } from "../route.ts";

export function LiveView({ run }: { run: string }) {
  const growing = useGrowing(`/api/runs/${encodeURIComponent(run)}/live`);
  const { value: page } = useLoaded(
    `run ${run}`,
    () => api.run(run),
    (change) => change.run === run,
  );
  const isRunning = page?.row.state.name === "running";
  return (
    <>
      <div class="line">
        <h1>Live</h1>
        {page && <State state={page.row.state} />}
        <a href={linkTo(["run", run])}>← the run</a>
      </div>
      <p class="faint">
        {growing?.iteration === undefined
          ? "Nothing is being played yet."
          : `iteration ${growing.iteration}`}
        {page && !isRunning && " · the run is over; this is what it played last"}
        {isRunning && growing && isWaiting(growing) && " · learning from what was played"}
        {" · the stronger a token's colour, the less likely it was"}
      </p>
      {growing?.episodes.map((episode) => (
        <GrowingEpisodePart key={episode.begun.episode} episode={episode} />
      ))}
      {growing?.isFull && <p class="faint">It goes on; more of an iteration is not kept.</p>}
      <Following size={sizeOf(growing)} />
    </>
  );
}

const isWaiting = ({ episodes }: Growing) =>
  episodes.length > 0 && episodes.every(({ ended }) => ended !== undefined);

export function sizeOf(growing: Growing | undefined): number {
  let size = 0;
  for (const { turns, ended } of growing?.episodes ?? [])
    size += (ended ? 1 : 0) + turns.reduce((sum, { tokens }) => sum + 1 + tokens.length, 0);
  return size;
}
