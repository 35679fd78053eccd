/**
 * @file One episode, token by token: the microscope.
 */
import { useMemo, useState } from "preact/hooks";
import type { EpisodePage, TurnView } from "../../../src/dashboard/api.ts";
import { TOKEN_COLUMNS, type TokenColumn } from "../../../src/monitoring/tokens/table.ts";
import { api, useLoaded } from "../api.ts";
import { useKeys } from "../keys.ts";
import { colourOf, LENSES, type Lens, reach } from "../lens.ts";
import { short } from "../numbers.ts";
import { plain, visible, Waiting } from "../parts/small.tsx";
import { linkTo } from "../route.ts";

interface EpisodeProps {
  readonly run: string;
  readonly id: string;
  readonly kind: string;
}

export function EpisodeView({ run, id, kind }: EpisodeProps) {
  const { value: page, error } = useLoaded(`episode ${run} ${kind} ${id}`, () =>
    api.episode(run, id, kind),
  );
  if (!page) return <Waiting error={error} />;
  return <Microscope {...{ run, kind, page }} key={id} />;
}

function Microscope({ run, kind, page }: { run: string; kind: string; page: EpisodePage }) {
  const lenses = useMemo(
    () =>
      LENSES.flatMap((lens) => {
        const values = lens.values(page);
        return values?.some((value) => value !== null)
          ? [{ lens, values, most: reach(values) }]
          : [];
      }),
    [page],
  );
  const [chosen, setChosen] = useState(0);
  const [shown, setShown] = useState<number>();
  const [asText, setAsText] = useState(false);
  const view = lenses[Math.min(chosen, lenses.length - 1)];
  useKeys({
    ArrowRight: () => setShown((at = -1) => Math.min(at + 1, tokenCount(page) - 1)),
    ArrowLeft: () => setShown((at = 1) => Math.max(at - 1, 0)),
    l: () => setChosen((at) => (at + 1) % Math.max(1, lenses.length)),
    Escape: () => setShown(undefined),
  });
  const { row } = page;
  let first = 0;
  return (
    <>
      <div class="line">
        <h1>{row.task}</h1>
        <span class={row.won ? "good" : "bad"}>{row.status}</span>
        <a href={linkTo(["run", run])}>← the run</a>
        <a href={linkTo(["run", run, "group", row.group])}>its group</a>
        <a href={linkTo(["run", run, "task", row.task], kind === "training" ? {} : { kind })}>
          the task through training
        </a>
      </div>
      <p class="faint">
        iteration {row.step} · reward {short(row.reward)} · {row.turns} turns
        {page.rewards &&
          ` · ${Object.entries(page.rewards)
            .map(([name, value]) => `${name} ${short(value)}`)
            .join(", ")}`}
        {page.failure !== undefined && ` · ${page.failure.name}`}
        {row.dropped !== undefined && ` · not trained on: ${row.dropped}`}
      </p>
      {page.error !== undefined && <p class="bad">{page.error}</p>}
      <nav class="line">
        {page.group.map((other) => (
          <a
            key={other.id}
            class={other.id === row.id ? "button chosen" : "button"}
            href={linkTo(["run", run, "episode", other.id], kind === "training" ? {} : { kind })}
          >
            {other.id.split("#").at(-1)}{" "}
            <span class={other.won ? "good" : "faint"}>{short(other.reward)}</span>
          </a>
        ))}
      </nav>
      <div class="controls sticky">
        <label>
          colour{" "}
          <select value={chosen} onChange={(event) => setChosen(Number(event.currentTarget.value))}>
            {lenses.map(({ lens }, i) => (
              <option key={lens.name} value={i}>
                {lens.name}
              </option>
            ))}
          </select>
        </label>
        {view && <Legend lens={view.lens} most={view.most} />}
        <label>
          <input
            type="checkbox"
            checked={asText}
            onChange={(event) => setAsText(event.currentTarget.checked)}
          />{" "}
          whole prompts
        </label>
        <span class="faint keys">← → token by token, l another colour</span>
      </div>
      {!page.columns && kind === "training" && (
        <p class="faint">
          Of this episode only what was drawn is stored. <code>trainer.token_record_groups</code>{" "}
          says of how many groups per iteration the update's numbers are kept.
        </p>
      )}
      <div class="microscope">
        <div>
          {page.turns.map((turn, i) => {
            const start = first;
            first += turn.tokens.length;
            return (
              <TurnPart
                key={start}
                {...{ turn, number: i + 1, start, view, shown, setShown, asText }}
              />
            );
          })}
          <div class="turn">
            <div class="who">at the end</div>
            <pre>{plain(page.lastObservation)}</pre>
          </div>
        </div>
        <aside>
          {shown === undefined ? <Sums page={page} /> : <TokenFacts page={page} at={shown} />}
        </aside>
      </div>
    </>
  );
}

interface TurnProps {
  readonly turn: TurnView;
  readonly number: number;
  readonly start: number;
  readonly view: { lens: Lens; values: (number | null)[]; most: number } | undefined;
  readonly shown: number | undefined;
  readonly setShown: (at: number | undefined) => void;
  readonly asText: boolean;
}

function TurnPart({ turn, number, start, view, shown, setShown, asText }: TurnProps) {
  return (
    <section class="turn">
      <div class="who">
        turn {number} · told{asText && ` (${turn.promptTokens} tokens)`}
      </div>
      {asText ? (
        turn.messages.map(({ role, content }, i) => (
          <pre key={`${role}${i}`}>
            <b>{role}</b>
            {`\n${plain(content)}`}
          </pre>
        ))
      ) : (
        <pre>{plain(turn.observation)}</pre>
      )}
      <div class="who">
        turn {number} · said · reward {short(turn.reward)}
        {turn.admissible === false && <span class="bad"> · not admissible</span>}
        {turn.problems.map((problem) => (
          <span class="bad" key={problem}>
            {" "}
            · {problem}
          </span>
        ))}
        {turn.recorded && ` · return ${short(turn.recorded.return)}`}
      </div>
      <pre class="agent tokens">
        {turn.tokens.map(({ id, text }, i) => {
          const at = start + i;
          return (
            <button
              type="button"
              key={at}
              class={at === shown ? "token shown" : "token"}
              style={{
                background: view ? colourOf(view.values[at] ?? null, view.lens, view.most) : "",
              }}
              onMouseEnter={() => setShown(at)}
              onFocus={() => setShown(at)}
            >
              {visible(text ?? `⟨${id}⟩`)}
            </button>
          );
        })}
      </pre>
    </section>
  );
}

function Legend({ lens, most }: { lens: Lens; most: number }) {
  const steps =
    lens.scale === "signed" ? [-most, -most / 4, 0, most / 4, most] : [0, most / 4, most];
  if (lens.scale === "share") return null;
  return (
    <span class="legend">
      {steps.map((value, i) => (
        <span key={`${i}`} style={{ background: colourOf(value, lens, most) }}>
          {short(value)}
        </span>
      ))}
    </span>
  );
}

function turnOf(
  { turns }: EpisodePage,
  at: number,
): { turn: TurnView; number: number; place: number } {
  let place = at;
  for (const [i, turn] of turns.entries()) {
    if (place < turn.tokens.length) return { turn, number: i + 1, place };
    place -= turn.tokens.length;
  }
  throw new RangeError(`there is no token ${at}`);
}

function TokenFacts({ page, at }: { page: EpisodePage; at: number }) {
  const { turn, number, place } = turnOf(page, at);
  const { id, text } = turn.tokens[place]!;
  const { columns } = page;
  const facts: [string, string][] = [
    ["token", JSON.stringify(text ?? "")],
    ["id", String(id)],
    ["turn", `${number}, token ${place + 1} of ${turn.tokens.length}`],
    ["log p when drawn", short(turn.logprobs[place])],
  ];
  for (const [name, about] of Object.entries(TOKEN_COLUMNS)) {
    const value = columns?.[name as TokenColumn]?.[at];
    if (value !== undefined) facts.push([about, value === null ? "not computed" : short(value)]);
  }
  const derived = (
    name: string,
    a: TokenColumn,
    b: TokenColumn,
    of: (a: number, b: number) => number,
  ) => {
    const [x, y] = [columns?.[a]?.[at], columns?.[b]?.[at]];
    if (typeof x === "number" && typeof y === "number") facts.push([name, short(of(x, y))]);
  };
  derived("ratio", "logprob", "old_logprob", (x, y) => Math.exp(x - y));
  derived("part of the loss", "loss", "weight", (x, y) => x * y);
  return <Facts facts={facts} />;
}

/** Of the whole episode: what is shown is what the loss used. */
function Sums({ page }: { page: EpisodePage }) {
  const { columns, about } = page;
  const facts: [string, string][] = [["tokens drawn", String(tokenCount(page))]];
  const sum = (values: readonly (number | null)[]) =>
    values.reduce<number>((all, value) => all + (value ?? 0), 0);
  if (columns?.reward) facts.push(["Σ reward", short(sum(columns.reward))]);
  if (columns?.loss && columns.weight)
    facts.push([
      "part of the policy loss",
      short(sum(columns.loss.map((value, i) => (value ?? 0) * (columns.weight![i] ?? 0)))),
    ]);
  if (columns?.clipped) facts.push(["tokens clipped", String(sum(columns.clipped))]);
  for (const [name, value] of Object.entries(about ?? {}))
    facts.push([name.replaceAll("_", " "), String(value)]);
  return <Facts facts={facts} />;
}

function Facts({ facts }: { facts: readonly (readonly [string, string])[] }) {
  return (
    <table class="facts">
      <tbody>
        {facts.map(([name, value]) => (
          <tr key={name}>
            <th>{name}</th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function tokenCount({ turns }: EpisodePage): number {
  return turns.reduce((sum, { tokens }) => sum + tokens.length, 0);
}
