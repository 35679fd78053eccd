/**
 * @file One run: the verdict first, then curves, what it said, its configuration.
 */
import { useMemo } from "preact/hooks";
import type { RunPage, Verdict } from "../../../src/dashboard/api.ts";
import { api, isReport, useLoaded } from "../api.ts";
import { duration, shortPath } from "../numbers.ts";
import type { Mark } from "../parts/chart.tsx";
import { CurveGroups } from "../parts/curves.tsx";
import { RateText, State, Waiting } from "../parts/small.tsx";
import { TimeSplit } from "../parts/time-split.tsx";
import { linkTo } from "../route.ts";

export function RunView({ id }: { id: string }) {
  const { value: page, error } = useLoaded(
    `run ${id}`,
    () => api.run(id),
    ({ run }) => run === id,
  );
  const marks = useMemo(() => (page ? marksOf(page) : []), [page]);
  if (!page) return <Waiting error={error} />;
  const { row, columns, verdict, log, config, versions } = page;
  return (
    <>
      <div class="line">
        <h1>
          <bdi>{row.title}</bdi>
        </h1>
        <State state={row.state} />
      </div>
      <p class="faint">
        <bdi>{row.subtitle}</bdi> · {shortPath(row.folder)} · {row.iterations}
        {row.total !== undefined && ` of ${row.total}`} iterations · {row.episodes} episodes ·{" "}
        {duration(row.minutes)}
      </p>
      {row.state.reason !== undefined && <p class="bad">{row.state.reason}</p>}
      {verdict ? <VerdictText verdict={verdict} /> : <SuccessText page={page} />}
      <nav class="line">
        {page.isLive && !isReport && row.state.name === "running" && (
          <a class="button" href={linkTo(["run", id, "live"])}>
            <span class="pulse" /> watch it play
          </a>
        )}
        {page.isPlayable && (
          <a class="button" href={linkTo(["run", id, "play"])}>
            play
          </a>
        )}
        <a class="button" href={linkTo(["run", id, "episodes"])}>
          episodes
        </a>
        {page.recorded.length > 0 && (
          <a class="button" href={linkTo(["run", id, "episodes"], { recorded: "1" })}>
            tokens under the microscope
          </a>
        )}
        {page.validated.length > 0 && (
          <a class="button" href={linkTo(["run", id, "episodes"], { kind: "validation" })}>
            validation episodes
          </a>
        )}
      </nav>
      <AlarmList alarms={page.alarms} />
      <TimeSplit columns={columns} />
      <CurveGroups runs={[{ name: "", columns }]} marks={marks} />
      <details>
        <summary>
          Log <span class="count">{log.length}</span>
        </summary>
        <pre>{log.map(lineOf).join("\n")}</pre>
      </details>
      <details>
        <summary>Configuration</summary>
        <pre>{config}</pre>
      </details>
      <details>
        <summary>Versions</summary>
        <pre>
          {Object.entries(versions)
            .map(([name, value]) => `${name}: ${value}`)
            .join("\n")}
        </pre>
      </details>
    </>
  );
}

function VerdictText({ verdict }: { verdict: Verdict }) {
  const { before, after, gained, lost, p } = verdict;
  const difference = after.value - before.value;
  const isSure = p < 0.05;
  const tone = !isSure ? "" : difference > 0 ? "good" : "bad";
  return (
    <section class="verdict">
      <div>
        <div class="faint">{before.step === 0 ? "before" : `iteration ${before.step}`}</div>
        <div class="large">
          <RateText rate={before} />
        </div>
      </div>
      <div class="arrow">→</div>
      <div>
        <div class="faint">iteration {after.step}</div>
        <div class={`large ${tone}`}>
          <RateText rate={after} />
        </div>
      </div>
      <p>
        In validation {difference >= 0 ? "+" : ""}
        {(100 * difference).toFixed(1)} points on {after.count} episodes. {gained} tasks are solved
        now that were not, {lost} the other way round:{" "}
        {isSure ? "no accident" : "this may be chance"} (paired sign test, p = {p.toPrecision(2)}).
      </p>
    </section>
  );
}

/** What went wrong, first what still does. */
function AlarmList({ alarms }: Pick<RunPage, "alarms">) {
  if (alarms.length === 0) return null;
  const isOpen = ({ until }: RunPage["alarms"][number]) => until === undefined;
  const sorted = [...alarms.filter(isOpen), ...alarms.filter((alarm) => !isOpen(alarm))];
  return (
    <details open={alarms.some(isOpen)}>
      <summary>
        Alarms <span class="count">{alarms.length}</span>
      </summary>
      <ul class="alarms">
        {sorted.map((alarm) => (
          <li key={`${alarm.name} ${alarm.from}`} class={isOpen(alarm) ? "bad" : "faint"}>
            iteration {alarm.from}
            {alarm.until !== undefined && ` to ${alarm.until}`}: {alarm.text}
          </li>
        ))}
      </ul>
    </details>
  );
}

function SuccessText({ page: { row } }: { page: RunPage }) {
  if (!row.success) return <p class="faint">Nothing was played yet.</p>;
  return (
    <section class="verdict">
      <div>
        <div class="faint">success of the last episodes; no two validations yet to compare</div>
        <div class="large">
          <RateText rate={row.success} />
        </div>
      </div>
    </section>
  );
}

function marksOf({ log, alarms: raised, validated }: RunPage): Mark[] {
  const told = log.flatMap((entry) => {
    const found = entry.kind === "said" ? /^iteration (\d+): /.exec(entry.text) : null;
    return found ? [Number(found[1])] : [];
  });
  const alarms = [...new Set([...told, ...raised.map(({ from }) => from)])].map((x) => ({
    x,
    kind: "alarm" as const,
  }));
  return [...validated.map((x) => ({ x, kind: "validation" as const })), ...alarms];
}

function lineOf(entry: RunPage["log"][number]): string {
  const when = entry.at.replace("T", " ").slice(0, 19);
  if (entry.kind === "said") return `${when}  ${entry.text}`;
  if (entry.kind === "alarm") return `${when}  iteration ${entry.iteration}: ${entry.text}`;
  if (entry.kind === "begun")
    return `${when}  begun${entry.from > 0 ? `, going on after iteration ${entry.from}` : ""}`;
  return `${when}  ended: ${entry.end}${entry.reason ? `, ${entry.reason}` : ""}`;
}
