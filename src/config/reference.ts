/**
 * @file The reference pages of the configuration, made from the schema: all settings
 * (docs/configuration.md), and what becomes of verl's (docs/verl.md).
 */
import { PRESETS } from "./presets.ts";
import { allSettings, type SettingEntry } from "./tree.ts";

export function configurationReference(): string {
  const settings = allSettings();
  const sections = new Map<string, SettingEntry[]>();
  for (const entry of settings) {
    const name = entry.path.split(".").slice(0, -1).join(".");
    sections.set(name, [...(sections.get(name) ?? []), entry]);
  }
  const effective = (entries: readonly SettingEntry[]) => entries.filter(({ inert }) => !inert);
  const parts = [...sections].flatMap(([name, entries]) => {
    const shown = effective(entries);
    if (shown.length === 0) return [];
    return [`## ${name}`, table(shown)];
  });
  const without = settings.filter(({ inert }) => inert);
  return [
    "# Configuration",
    "<!-- Made from src/config by `npm run docs`; a test compares. -->",
    "Every setting of `openmanus-rl train`, with verl's names. Settings come from a preset " +
      "(`--preset`), from YAML files (`--config`) and from the command line (`a.b=c`), of which the later wins. " +
      "`--dry-run` prints what comes out.",
    "Presets: " +
      Object.entries(PRESETS)
        .map(([name, { about }]) => `\`${name}\` (${about})`)
        .join("; ") +
      ".",
    ...parts,
    "## Accepted, without effect",
    "The documents' and verl's command lines have these. They are read, and a run says that they do nothing.",
    [
      "| setting | why |",
      "| --- | --- |",
      ...without.map(({ path, inert }) => `| \`${path}\` | ${inert} |`),
    ].join("\n"),
  ]
    .join("\n\n")
    .concat("\n");
}

/** What is known of verl's own configuration; see tools/docs/verl-keys.ts. */
export interface VerlFacts {
  /** The names of its settings, and of sections that are taken or refused as a whole. */
  readonly keys: readonly string[];
  /** Its defaults, of settings that work here. */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** Why those that are not here are refused. */
  readonly missing: Readonly<Record<string, string>>;
  /** `name=value`s that are refused although the setting works, and what to do. */
  readonly values: Readonly<Record<string, string>>;
}

/** Which of verl's settings work here, which are accepted without effect, which are refused. */
export function verlKeys({ keys }: Pick<VerlFacts, "keys">) {
  const settings = new Map(allSettings().map((entry) => [entry.path, entry]));
  const found = keys.map((key) => ({ key, entry: settings.get(key) }));
  return {
    working: found.flatMap(({ entry }) => (entry && !entry.inert ? [entry] : [])),
    inert: found.flatMap(({ entry }) => (entry?.inert ? [entry] : [])),
    refused: found.flatMap(({ key, entry }) => (entry ? [] : [key])),
    ours: [...settings.values()].filter(({ path, inert }) => !inert && !keys.includes(path)),
  };
}

export function verlReference(facts: VerlFacts): string {
  const { working, inert, refused, ours } = verlKeys(facts);
  const sections = [...new Set(ours.map(({ path }) => path.split(".").slice(0, -1).join(".")))];
  return [
    "# verl's settings here",
    "<!-- Made from src/config and tools/docs/verl-keys.ts by `npm run docs`; a test compares. -->",
    "Settings have the names of verl's trainer (`ppo_trainer.yaml` and the files that it includes) and of " +
      "verl-agent's. A command line of theirs can be pasted after `openmanus-rl train`: what works is " +
      "used, what cannot matter is accepted with a note, anything else is refused by name, before anything " +
      "is written. `--dry-run` shows what comes out. What each setting does: " +
      "[configuration.md](configuration.md). How it is read: [config.md](config.md).",
    `${working.length} of verl's settings work, ${inert.length} are accepted without effect, ` +
      `${refused.length} settings and sections are refused.`,
    "## Settings that work",
    "verl's default stands where it is another than ours. (Of what has no fixed default, " +
      "[configuration.md](configuration.md) says what it follows from.)",
    inColumns([
      ["setting", "default here", "verl's default"],
      ...working.map(({ path, defaultValue }) => {
        const theirs = facts.defaults[path];
        const differs =
          theirs !== undefined && JSON.stringify(theirs) !== JSON.stringify(defaultValue);
        return [`\`${path}\``, shown(defaultValue), differs ? shown(theirs) : ""];
      }),
    ]),
    "## Values that are refused",
    "The setting works, this value of it does not.",
    inColumns([
      ["given", "instead"],
      ...Object.entries(facts.values).map(([given, why]) => [`\`${given}\``, cell(why)]),
    ]),
    "## Accepted, without effect",
    "A run that is given one of these says so, with the reason.",
    inColumns([
      ["setting", "why"],
      ...inert.map(({ path, inert: why }) => [`\`${path}\``, cell(why!)]),
    ]),
    "## Refused",
    "_Not applicable_: there is nothing here that it could mean. _Not built_: it could be, and is not. " +
      "_Other name_: the same is said differently here. A section stands for everything in it.",
    inColumns([
      ["setting", "why"],
      ...refused.map((key) => [`\`${key}\``, cell(facts.missing[key] ?? "")]),
    ]),
    "## Only here",
    "Settings that verl and verl-agent do not have:",
    sections
      .map((section) => {
        const own = ours.filter(({ path }) => path.split(".").slice(0, -1).join(".") === section);
        const names = own.map(({ path }) => `\`${path.split(".").at(-1)}\``);
        return `- \`${section}\`: ${names.join(", ")}`;
      })
      .join("\n"),
  ]
    .join("\n\n")
    .concat("\n");
}

function table(entries: readonly SettingEntry[]): string {
  const rows = entries.map(({ path, kind, defaultValue, about }) => {
    const name = path.split(".").at(-1)!;
    return `| \`${name}\` | ${cell(kind)} | ${shown(defaultValue)} | ${cell(about)} |`;
  });
  return ["| setting | value | default | |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

function shown(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value === "boolean") return value ? "`True`" : "`False`";
  if (value === "") return '`""`';
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}

/** A table whose columns are as wide as their longest cell, as the formatter would have it. */
function inColumns(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((text, column) => text.padEnd(widths[column]!)).join(" | ")} |`;
  const [head, ...body] = rows;
  return [line(head!), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join(
    "\n",
  );
}
