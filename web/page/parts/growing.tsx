/**
 * @file An episode that grows: what was told, tokens as they are drawn, what the world made of them.
 */
import { useEffect, useRef } from "preact/hooks";
import { colourOf } from "../lens.ts";
import type { GrowingEpisode, GrowingTurn } from "../live.ts";
import { percent, short } from "../numbers.ts";
import { plain, visible } from "./small.tsx";

/** A surprise (−log p) that has the full colour. */
const MOST_SURPRISE = 5;

export function GrowingEpisodePart({ episode }: { episode: GrowingEpisode }) {
  const { begun, turns, ended } = episode;
  return (
    <section class="growing">
      <div class="line">
        <h2>{begun.task}</h2>
        {begun.type !== undefined && <span class="faint">{begun.type}</span>}
        {ended ? (
          <span class={ended.status === "won" ? "good" : "bad"}>{ended.status}</span>
        ) : (
          <span class="state running">turn {turns.length}</span>
        )}
        {begun.attempt > 0 && <span class="faint">begun again, {begun.attempt}×</span>}
      </div>
      {turns.map((turn) => (
        <TurnPart key={turn.told.turn} turn={turn} isOver={ended !== undefined} />
      ))}
      {ended && (
        <div class="turn">
          <div class="who">
            at the end · {ended.status} · reward {short(ended.reward)} · score {short(ended.score)}
          </div>
          <pre>{plain(ended.text)}</pre>
          {ended.error !== undefined && <p class="bad">{ended.error}</p>}
        </div>
      )}
    </section>
  );
}

function TurnPart({ turn, isOver }: { turn: GrowingTurn; isOver: boolean }) {
  const { told, tokens, acted } = turn;
  return (
    <div class="turn">
      <div class="who">turn {told.turn + 1} · told</div>
      <pre>{plain(told.text)}</pre>
      {(tokens.length > 0 || acted) && (
        <>
          <div class="who">
            turn {told.turn + 1} · said{tokens.length > 0 && ` · ${tokens.length} tokens`}
            {acted && ` · reward ${short(acted.reward)} · score ${short(acted.score)}`}
            {acted?.admissible === false && <span class="bad"> · not admissible</span>}
            {acted?.action === null && <span class="bad"> · no action could be read</span>}
          </div>
          <pre class="agent tokens">
            {tokens.length === 0 && plain(acted?.action ?? "")}
            {tokens.map(([text, logprob], i) => (
              <span
                key={`${i}`}
                class="token"
                title={
                  logprob === null
                    ? undefined
                    : `log p ${short(logprob)}, ${percent(Math.exp(logprob))}`
                }
                style={{
                  background: colourOf(
                    logprob === null ? null : -logprob,
                    { scale: "size" },
                    MOST_SURPRISE,
                  ),
                }}
              >
                {visible(text)}
              </span>
            ))}
            {!acted && !isOver && <span class="caret" role="img" aria-label="is being drawn" />}
          </pre>
        </>
      )}
    </div>
  );
}

/** Stays at the end of what grows, as long as one has not scrolled away from it. */
export function Following({ size }: { size: number }) {
  const end = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const moved = () => {
      const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
      isAtEnd.current = scrollHeight - clientHeight - scrollTop < 120;
    };
    addEventListener("scroll", moved, { passive: true });
    return () => removeEventListener("scroll", moved);
  }, []);
  useEffect(() => {
    if (isAtEnd.current) end.current?.scrollIntoView({ block: "nearest" });
  }, [size]);
  return <div ref={end} />;
}
