/**
 * @file Several runs beside each other: curves, seeds as a band, what their configurations differ in.
 */
import { useState } from "preact/hooks";
import type { RunPage } from "../../../src/dashboard/api.ts";
import { api, useLoaded } from "../api.ts";
import { shortPath } from "../numbers.ts";
import { CurveGroups, type Measured } from "../parts/curves.tsx";
import { RateText, State, Waiting } from "../parts/small.tsx";
import { linkTo } from "../route.ts";

export function CompareView({ ids }: { ids: readonly string[] }) {
  const [isGrouped, setGrouped] = useState(true);
  const { value: pages, error } = useLoaded(
    `compare ${ids}`,
    () => Promise.all(ids.map(api.run)),
    ({ run }) => ids.includes(run),
  );
  if (!pages) return <Waiting error={error} />;
  const groups = isGrouped ? bySettings(pages) : pages.map((page) => [page]);
  const runs = groups.map((members): Measured => {
    const [first, ...others] = members.map(({ columns }) => columns);
    const { folder, algorithm } = members[0]!.row;
    const name = others.length > 0 ? `${algorithm}, ${members.length} seeds` : shortPath(folder);
    return { name, columns: first!, ...(others.length > 0 && { others }) };
  });
  return (
    <>
      <div class="line">
        <h1>{pages.length} runs</h1>
        <label>
          <input
            type="checkbox"
            checked={isGrouped}
            onChange={(event) => setGrouped(event.currentTarget.checked)}
          />{" "}
          seeds as one, with a band
        </label>
      </div>
      <div class="scroll">
        <table class="rows">
          <tbody>
            {pages.map(({ row }) => (
              <tr key={row.id}>
                <td>
                  <a href={linkTo(["run", row.id])}>{shortPath(row.folder)}</a>
                </td>
                <td>
                  <State state={row.state} />
                </td>
                <td>{row.algorithm}</td>
                <td>
                  <RateText rate={row.success} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Differences pages={pages} />
      <CurveGroups runs={runs} />
    </>
  );
}

/** "a.b": "value" of a configuration; it is our own YAML: two blanks per level, lists as they are. */
export function settingsOf(yaml: string): Map<string, string> {
  const found = new Map<string, string>();
  const path: string[] = [];
  for (const line of yaml.split("\n")) {
    const parts = /^( *)([^\s:#-][^:]*):(?: (.*))?$/.exec(line);
    if (!parts) {
      const key = path.join(".");
      if (line.trim() !== "" && found.has(key))
        found.set(key, `${found.get(key)} ${line.trim()}`.trim());
      continue;
    }
    path.length = parts[1]!.length / 2;
    path.push(parts[2]!);
    found.set(path.join("."), parts[3] ?? "");
  }
  return found;
}

/** Differ between runs of the same thing. */
const OWN = /^trainer\.(seed|experiment_name|default_local_dir|project_name)$|(^|\.)seed$/;

function bySettings(pages: readonly RunPage[]): RunPage[][] {
  const groups = new Map<string, RunPage[]>();
  for (const page of pages) {
    const key = [...settingsOf(page.config)].filter(([name]) => !OWN.test(name)).join("\n");
    groups.set(key, [...(groups.get(key) ?? []), page]);
  }
  return [...groups.values()];
}

function Differences({ pages }: { pages: readonly RunPage[] }) {
  const all = pages.map(({ config }) => settingsOf(config));
  const names = [...new Set(all.flatMap((one) => [...one.keys()]))].filter(
    (name) => new Set(all.map((one) => one.get(name))).size > 1,
  );
  return (
    <details open={names.length <= 12}>
      <summary>
        Settings that differ <span class="count">{names.length}</span>
      </summary>
      <div class="scroll">
        <table class="rows">
          <thead>
            <tr>
              <th>setting</th>
              {pages.map(({ row }) => (
                <th key={row.id}>{shortPath(row.folder)}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {names.map((name) => (
              <tr key={name}>
                <td>
                  <code>{name}</code>
                </td>
                {all.map((one, i) => (
                  <td key={pages[i]!.row.id}>{one.get(name) ?? "–"}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
