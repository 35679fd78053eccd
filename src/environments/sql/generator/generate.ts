/**
 * @file Makes a database and a question about it, from a seed.
 */
import { type Random, seededRandom } from "../../random.ts";
import type { DatabaseSource } from "../engine/process.ts";
import type { Schema } from "../schema-text.ts";
import { KINDS, type Kind, wordingOf } from "./kinds.ts";
import { NAMES, nameNumber, type Subject, TEST_THEMES, THEMES, type Theme } from "./themes.ts";

export interface GeneratedQuestion {
  readonly database: DatabaseSource;
  readonly schema: Schema;
  readonly question: string;
  readonly gold: string;
  readonly type: string;
}

interface Rows {
  readonly names: readonly string[];
  readonly words: readonly string[];
  readonly numbers: readonly (readonly number[])[];
  /** Of the second table: which of the first it belongs to, from 1. */
  readonly owners?: readonly number[];
}

/** Databases are shared by questions: one in so many has a database of its own. */
const QUESTIONS_PER_DATABASE = 50;

/** Which kind the question of a number is: without making it. */
export function kindOfQuestion(index: number): Kind {
  return KINDS[index % KINDS.length]!;
}

export function generatedQuestion(seed: number, split: string, index: number): GeneratedQuestion {
  const group = Math.floor(index / QUESTIONS_PER_DATABASE);
  const random = seededRandom("sql", "database", seed, split, group);
  const themes = split === "test" ? THEMES.slice(-TEST_THEMES) : THEMES.slice(0, -TEST_THEMES);
  const theme = random.pick(themes);
  const owner = drawnRows(theme.owner, 6 + random.integer(5), random);
  const count = 20 + random.integer(21);
  // One of the first table has none.
  const lonely = 1 + random.integer(owner.names.length);
  const others = owner.names.map((_, i) => i + 1).filter((id) => id !== lonely);
  const owned = {
    ...drawnRows(theme.owned, count, random),
    owners: Array.from({ length: count }, () => random.pick(others)),
  };
  const kind = kindOfQuestion(index);
  const blanks = drawnBlanks(
    kind,
    theme,
    owner,
    owned,
    seededRandom("sql", "question", seed, split, index),
  );
  return {
    database: { name: `${split}-${seed}-${group}`, script: scriptOf(theme, owner, owned) },
    schema: schemaOf(theme),
    question: wordingOf(kind, blanks),
    gold: kind.query(blanks),
    type: kind.name,
  };
}

function drawnRows({ word, numbers }: Subject, count: number, random: Random): Rows {
  const first = random.integer(NAMES);
  return {
    names: Array.from({ length: count }, (_, i) => nameNumber((first + i * 17) % NAMES)),
    words: Array.from({ length: count }, () => random.pick(word[1])),
    // All different, so that the highest is one.
    numbers: numbers.map(([, from, to]) => {
      const drawn = new Set<number>();
      while (drawn.size < count) drawn.add(from + random.integer(to - from + 1));
      return [...drawn];
    }),
  };
}

function drawnBlanks(
  { wording }: Kind,
  { owner, owned }: Theme,
  owners: Rows,
  rows: Rows,
  random: Random,
): Record<string, string> {
  const isAboutOwner = wording.includes("of a <owner> with the <word>");
  const subject = isAboutOwner ? owner : owned;
  const column = random.integer(owned.numbers.length);
  const value = wording.includes("<number> is more")
    ? String(random.pick(rows.numbers[column]!))
    : wording.includes("called")
      ? random.pick(owners.names)
      : wording.includes("more than <value>")
        ? String(1 + random.integer(4))
        : random.pick(isAboutOwner ? owners.words : rows.words);
  return {
    ...{ owner: owner.noun, owned: owned.noun, word: subject.word[0], value },
    number: owned.numbers[column]![0],
  };
}

function columnsOf({ word, numbers }: Subject): string[] {
  return ["id", "name", word[0], ...numbers.map(([name]) => name)];
}

function schemaOf({ name, owner, owned }: Theme): Schema {
  const first = columnsOf(owner);
  const second = [...columnsOf(owned), `${owner.noun}_id`];
  return {
    name,
    tables: [`${owner.noun}s`, `${owned.noun}s`],
    columns: [
      [-1, "*"],
      ...first.map((column): [number, string] => [0, column]),
      ...second.map((column): [number, string] => [1, column]),
    ],
    primaryKeys: [1, first.length + 1],
    foreignKeys: [[first.length + second.length, 1]],
  };
}

function scriptOf({ owner, owned }: Theme, owners: Rows, rows: Rows): string {
  const table = (subject: Subject, { names, words, numbers, owners: ids }: Rows): string => {
    const columns = [
      ...["id INTEGER PRIMARY KEY", "name TEXT", `${subject.word[0]} TEXT`],
      ...subject.numbers.map(([name]) => `${name} INTEGER`),
      ...(ids ? [`${owner.noun}_id INTEGER REFERENCES ${owner.noun}s(id)`] : []),
    ];
    const lines = names.map((name, i) =>
      [
        i + 1,
        `'${name}'`,
        `'${words[i]}'`,
        ...numbers.map((list) => list[i]),
        ...(ids ? [ids[i]] : []),
      ].join(", "),
    );
    return (
      `CREATE TABLE ${subject.noun}s (${columns.join(", ")});\n` +
      `INSERT INTO ${subject.noun}s VALUES ${lines.map((line) => `(${line})`).join(", ")};\n`
    );
  };
  return table(owner, owners) + table(owned, rows);
}
