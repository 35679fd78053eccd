/**
 * @file The reference page of the configuration (docs/configuration.md), made from the schema.
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
