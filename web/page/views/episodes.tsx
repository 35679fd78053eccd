/**
 * @file The episodes of a run: filtered, sorted, searched.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { EpisodeList, EpisodeRow } from "../../../src/dashboard/api.ts";
import { api, useLoaded } from "../api.ts";
import { short } from "../numbers.ts";
import { Waiting } from "../parts/small.tsx";
import { linkTo, routeOf } from "../route.ts";

const PAGE = 100;
const COLUMNS = [
  ["step", "iteration"],
  ["task", "task"],
  ["status", "status"],
  ["reward", "reward"],
  ["turns", "turns"],
] as const;

export function EpisodesView({ run, query }: { run: string; query: URLSearchParams }) {
  const asked = new URLSearchParams([...query, ["limit", String(PAGE)]]);
  const { value, error } = useLoaded(
    `episodes ${run} ${asked}`,
    () => api.episodes(run, asked),
    (change) => change.run === run,
  );
  // Until there is an answer to another question, the last one stays: a list that vanishes and comes back is no help.
  const last = useRef<{ run: string; list: EpisodeList }>(undefined);
  if (value) last.current = { run, list: value };
  const list =
    value ?? (error === undefined && last.current?.run === run ? last.current.list : undefined);
  const at = (name: string) => query.get(name) ?? "";
  const go = (changes: Record<string, string>) => {
    location.hash = linkTo(["run", run, "episodes"], {
      // As it is now: what was typed comes a moment later, when something else may have been chosen.
      ...Object.fromEntries(routeOf(location.hash).query),
      offset: "",
      ...changes,
    });
  };
  const offset = Number(at("offset"));
  const kind = at("kind") || "training";
  return (
    <>
      <div class="line">
        <h1>{kind === "validation" ? "Validation episodes" : "Episodes"}</h1>
        <a href={linkTo(["run", run])}>← the run</a>
      </div>
      <div class="controls">
        <Words
          label="from iteration"
          value={at("from")}
          onChange={(from) => go({ from })}
          size={5}
        />
        <Words label="to" value={at("to")} onChange={(to) => go({ to })} size={5} />
        <Words label="task" value={at("task")} onChange={(task) => go({ task })} size={14} />
        {list && list.types.length > 0 && (
          <label>
            kind{" "}
            <select
              value={at("type")}
              onChange={(event) => go({ type: event.currentTarget.value })}
            >
              <option value="">all</option>
              {list.types.map((type) => (
                <option key={type}>{type}</option>
              ))}
            </select>
          </label>
        )}
        <label>
          solved{" "}
          <select value={at("won")} onChange={(event) => go({ won: event.currentTarget.value })}>
            <option value="">both</option>
            <option value="1">yes</option>
            <option value="0">no</option>
          </select>
        </label>
        <Words label="text" value={at("text")} onChange={(text) => go({ text })} size={18} />
        {kind === "training" && (
          <label>
            <input
              type="checkbox"
              checked={at("recorded") === "1"}
              onChange={(event) => go({ recorded: event.currentTarget.checked ? "1" : "" })}
            />{" "}
            tokens recorded
          </label>
        )}
      </div>
      {!list ? (
        <Waiting error={error} />
      ) : (
        <>
          <p class="faint">
            {list.found} of {list.all} episodes
            {list.partial && "; not all could be searched in time: choose fewer iterations"}
          </p>
          <div class="line">
            {Object.entries(list.statuses).map(([status, count]) => (
              <button
                type="button"
                key={status}
                class={at("status") === status ? "chosen" : ""}
                onClick={() => go({ status: at("status") === status ? "" : status })}
              >
                {status} <span class="faint">{count}</span>
              </button>
            ))}
          </div>
          <Failures run={run} query={query} kind={kind} />
          <div class="scroll">
            <table class="rows">
              <thead>
                <tr>
                  {COLUMNS.map(([name, title]) => (
                    <th key={name}>
                      <button
                        type="button"
                        class="plain"
                        onClick={() =>
                          go({
                            sort: name,
                            descending: at("sort") === name && at("descending") !== "1" ? "1" : "",
                          })
                        }
                      >
                        {title} {at("sort") === name ? (at("descending") === "1" ? "↓" : "↑") : ""}
                      </button>
                    </th>
                  ))}
                  <th />
                </tr>
              </thead>
              <tbody>
                {list.rows.map((row) => (
                  <Row key={row.id} {...{ run, row, kind }} />
                ))}
              </tbody>
            </table>
          </div>
          <div class="line">
            {offset > 0 && (
              <button
                type="button"
                onClick={() => go({ offset: String(Math.max(0, offset - PAGE)) })}
              >
                ← before
              </button>
            )}
            {offset + PAGE < list.found && (
              <button type="button" onClick={() => go({ offset: String(offset + PAGE) })}>
                more →
              </button>
            )}
          </div>
        </>
      )}
    </>
  );
}

/** How those look that were not won: asked for when it is opened, because all of them must be read. */
function Failures({ run, query, kind }: { run: string; query: URLSearchParams; kind: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Why the others were not solved</summary>
      {isOpen && <FailureTable {...{ run, query, kind }} />}
    </details>
  );
}

function FailureTable({ run, query, kind }: { run: string; query: URLSearchParams; kind: string }) {
  const { value: list, error } = useLoaded(`failures ${run} ${query}`, () =>
    api.failures(run, query),
  );
  if (!list) return <Waiting error={error} />;
  const classes = Object.entries(list.classes).sort(([, a], [, b]) => b.count - a.count);
  return (
    <>
      <table class="rows">
        <tbody>
          {classes.map(([name, { about, count, example }]) => (
            <tr key={name}>
              <td>{name}</td>
              <td class="faint">{about}</td>
              <td class="number">{count}</td>
              <td>
                <a
                  href={linkTo(
                    ["run", run, "episode", example],
                    kind === "training" ? {} : { kind },
                  )}
                >
                  one of them
                </a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {list.partial && (
        <p class="faint">The newest {list.count}; more could not be read in time.</p>
      )}
    </>
  );
}

function Row({ run, row, kind }: { run: string; row: EpisodeRow; kind: string }) {
  const link = linkTo(["run", run, "episode", row.id], kind === "training" ? {} : { kind });
  return (
    <tr>
      <td class="number">{row.step}</td>
      <td>
        <a href={link}>{row.task}</a> {row.type !== "" && <span class="faint">{row.type}</span>}
      </td>
      <td class={row.won ? "good" : ""} title={row.dropped}>
        {row.status}
        {row.dropped !== undefined && <span class="faint"> · not trained on</span>}
      </td>
      <td class="number">{short(row.reward)}</td>
      <td class="number">{row.turns}</td>
      <td>
        {row.recorded && <span class="tag">tokens</span>}{" "}
        <a class="faint" href={linkTo(["run", run, "group", row.group])}>
          group
        </a>
      </td>
    </tr>
  );
}

/** Asked a moment after the last key. */
function Words(props: {
  label: string;
  value: string;
  size: number;
  onChange: (value: string) => void;
}) {
  const [value, setValue] = useState(props.value);
  useEffect(() => setValue(props.value), [props.value]);
  useEffect(() => {
    if (value === props.value) return;
    const timer = setTimeout(() => props.onChange(value), 250);
    return () => clearTimeout(timer);
  }, [value]);
  return (
    <label>
      {props.label}{" "}
      <input
        value={value}
        size={props.size}
        onInput={(event) => setValue(event.currentTarget.value)}
      />
    </label>
  );
}
