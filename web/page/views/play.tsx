/**
 * @file A run's world to be played: one is the agent, or a checkpoint is, step by step.
 */
import { useEffect, useState } from "preact/hooks";
import type { BeginPlay, PlayTable } from "../../../src/dashboard/api.ts";
import { games } from "../api.ts";
import { useKeys } from "../keys.ts";
import { type GrowingEpisode, useGrowing } from "../live.ts";
import { Following, GrowingEpisodePart } from "../parts/growing.tsx";
import { plain, Waiting } from "../parts/small.tsx";
import { linkTo } from "../route.ts";
import { sizeOf } from "./live.tsx";

export function PlayView({ run }: { run: string }) {
  const [table, setTable] = useState<PlayTable>();
  const [error, setError] = useState<string>();
  useEffect(() => {
    let isOver = false;
    let session: string | undefined;
    const leave = () => {
      isOver = true;
      if (session !== undefined) games.close(session).catch(() => {});
      session = undefined;
    };
    games.open(run).then(
      (opened) => {
        ({ session } = opened);
        if (isOver) leave();
        else setTable(opened);
      },
      (reason: Error) => setError(reason.message),
    );
    addEventListener("pagehide", leave);
    return () => {
      removeEventListener("pagehide", leave);
      leave();
    };
  }, [run]);
  return (
    <>
      <div class="line">
        <h1>Play</h1>
        <a href={linkTo(["run", run])}>← the run</a>
      </div>
      {table ? (
        <Table table={table} />
      ) : error === undefined ? (
        <p class="faint">The world is being opened …</p>
      ) : (
        <Waiting error={error} />
      )}
    </>
  );
}

function Table({ table }: { table: PlayTable }) {
  const { session } = table;
  const growing = useGrowing(games.events(session));
  const [begun, setBegun] = useState<BeginPlay>();
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const tell = async (work: Promise<unknown>) => {
    setBusy(true);
    setError(undefined);
    try {
      await work;
    } catch (reason) {
      setError((reason as Error).message);
    }
    setBusy(false);
  };
  const episode = growing?.episodes[0];
  return (
    <>
      <Choice
        table={table}
        isBusy={isBusy}
        begin={(given) => {
          setBegun(given);
          void tell(games.begin(session, given));
        }}
      />
      {error !== undefined && <p class="bad">{error}</p>}
      {episode && <GrowingEpisodePart episode={episode} />}
      {episode &&
        !episode.ended &&
        (begun?.iteration === undefined ? (
          <Acting
            episode={episode}
            isBusy={isBusy}
            act={(action) => void tell(games.act(session, action))}
          />
        ) : (
          <Stepping episode={episode} go={(turns) => void tell(games.go(session, turns))} />
        ))}
      <Following size={sizeOf(growing)} />
    </>
  );
}

function Choice(props: { table: PlayTable; isBusy: boolean; begin: (given: BeginPlay) => void }) {
  const { table, isBusy, begin } = props;
  const [who, setWho] = useState("");
  const [split, setSplit] = useState(table.split);
  const [task, setTask] = useState("0");
  const [seed, setSeed] = useState("0");
  const length = table.splits.find(({ name }) => name === split)?.length ?? 0;
  const last = table.iterations.at(-1);
  return (
    <form
      class="controls"
      onSubmit={(event) => {
        event.preventDefault();
        begin({
          ...{ split, task: task.trim(), seed: Math.max(0, Math.floor(Number(seed)) || 0) },
          ...(who !== "" && { iteration: Number(who) }),
        });
      }}
    >
      <label>
        who{" "}
        <select value={who} onChange={(event) => setWho(event.currentTarget.value)}>
          <option value="">you</option>
          {[...table.iterations].reverse().map((iteration) => (
            <option key={iteration} value={iteration}>
              the policy after iteration {iteration}
              {iteration === table.best ? " (best)" : iteration === last ? " (last)" : ""}
            </option>
          ))}
        </select>
      </label>
      <label>
        split{" "}
        <select value={split} onChange={(event) => setSplit(event.currentTarget.value)}>
          {table.splits.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label>
        task{" "}
        <input
          value={task}
          size={8}
          required
          onInput={(event) => setTask(event.currentTarget.value)}
        />{" "}
        of {length}
      </label>
      {who !== "" && (
        <label>
          seed{" "}
          <input
            value={seed}
            size={4}
            inputMode="numeric"
            onInput={(event) => setSeed(event.currentTarget.value)}
          />
        </label>
      )}
      <button type="submit" disabled={isBusy}>
        begin
      </button>
      <span class="faint">{table.turns} turns at most</span>
    </form>
  );
}

/** The place where the agent fills something in: search[<your query>]. */
const BLANK = /<[^<>]*>/;

function Acting(props: {
  episode: GrowingEpisode;
  isBusy: boolean;
  act: (action: string) => void;
}) {
  const { episode, isBusy, act } = props;
  const [action, setAction] = useState("");
  const admissible = episode.turns.at(-1)?.told.admissible ?? [];
  return (
    <section class="acting">
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault();
          if (action.trim() === "") return;
          act(action.trim());
          setAction("");
        }}
      >
        <input
          aria-label="action"
          placeholder="what do you do?"
          value={action}
          // biome-ignore lint/a11y/noAutofocus: the one thing to do here is to type.
          autoFocus
          onInput={(event) => setAction(event.currentTarget.value)}
        />
        <button type="submit" disabled={isBusy}>
          act
        </button>
      </form>
      <div class="line">
        {admissible.map((one) => (
          <button
            type="button"
            key={one}
            disabled={isBusy}
            onClick={() => (BLANK.test(one) ? setAction(one.replace(BLANK, "")) : act(one))}
          >
            {plain(one)}
          </button>
        ))}
      </div>
    </section>
  );
}

/** More than any episode has. */
const TO_THE_END = 1_000_000;

function Stepping({ episode, go }: { episode: GrowingEpisode; go: (turns: number) => void }) {
  const last = episode.turns.at(-1);
  // Between what it was told and its first token it waits for us.
  const isWaiting = last !== undefined && last.tokens.length === 0;
  useKeys({ s: () => isWaiting && go(1) });
  return (
    <div class="line">
      <button type="button" disabled={!isWaiting} onClick={() => go(1)}>
        step
      </button>
      <button type="button" disabled={!isWaiting} onClick={() => go(TO_THE_END)}>
        to the end
      </button>
      <span class="faint">s: a step · the stronger a token's colour, the less likely it was</span>
    </div>
  );
}
