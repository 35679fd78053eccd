/**
 * @file Episodes that grow while one looks: lines as they come from the server, put together.
 */
import { useEffect, useState } from "preact/hooks";
import type { LiveEvent } from "../../src/dashboard/api.ts";
import type { LiveLine } from "../../src/monitoring/live/lines.ts";

type Line<Kind extends LiveLine["kind"]> = Extract<LiveLine, { kind: Kind }>;

export interface GrowingTurn {
  readonly told: Line<"told">;
  readonly tokens: Line<"drawn">["tokens"];
  readonly acted: Line<"acted"> | undefined;
}

export interface GrowingEpisode {
  readonly begun: Line<"begun">;
  readonly turns: readonly GrowingTurn[];
  readonly ended: Line<"ended"> | undefined;
}

export interface Growing {
  readonly iteration: number | undefined;
  readonly episodes: readonly GrowingEpisode[];
  /** More was played than is kept. */
  readonly isFull: boolean;
}

export const NOTHING: Growing = { iteration: undefined, episodes: [], isFull: false };

export function grown(before: Growing, lines: readonly LiveLine[]): Growing {
  let { iteration, isFull } = before;
  const episodes = [...before.episodes];
  for (const line of lines) {
    if (line.kind === "iteration") iteration = line.iteration;
    else if (line.kind === "full") isFull = true;
    else if (line.kind === "begun") {
      // One that is begun again takes the place of the one that failed.
      const at = placeOf(episodes, line.episode);
      episodes[at < 0 ? episodes.length : at] = { begun: line, turns: [], ended: undefined };
    } else {
      const at = placeOf(episodes, line.episode);
      if (at >= 0) episodes[at] = withLine(episodes[at]!, line);
    }
  }
  return { iteration, episodes, isFull };
}

const placeOf = (episodes: readonly GrowingEpisode[], id: string) =>
  episodes.findIndex(({ begun }) => begun.episode === id);

function withLine(
  episode: GrowingEpisode,
  line: Line<"told"> | Line<"drawn"> | Line<"acted"> | Line<"ended">,
): GrowingEpisode {
  if (line.kind === "ended") return { ...episode, ended: line };
  if (line.kind === "told") {
    const turns = [
      ...episode.turns.slice(0, line.turn),
      { told: line, tokens: [], acted: undefined },
    ];
    return { ...episode, turns };
  }
  const turns = episode.turns.map((turn) => {
    if (turn.told.turn !== line.turn) return turn;
    return line.kind === "drawn"
      ? { ...turn, tokens: [...turn.tokens, ...line.tokens] }
      : { ...turn, acted: line };
  });
  return { ...episode, turns };
}

/** What the server tells of, from its beginning; undefined: it has not answered yet. */
export function useGrowing(address: string | undefined): Growing | undefined {
  const [growing, setGrowing] = useState<Growing>();
  useEffect(() => {
    setGrowing(undefined);
    if (address === undefined) return;
    const source = new EventSource(address);
    source.onopen = () => setGrowing((before) => before ?? NOTHING);
    source.onmessage = ({ data }) => {
      const { anew, lines } = JSON.parse(String(data)) as LiveEvent;
      setGrowing((before) => grown(anew ? NOTHING : (before ?? NOTHING), lines));
    };
    return () => source.close();
  }, [address]);
  return growing;
}
