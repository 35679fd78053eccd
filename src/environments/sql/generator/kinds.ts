/**
 * @file Kinds of questions: how each is asked, what query answers it, and how its wording is understood.
 *
 * The expert reads a question with the same patterns: what it needs is in the question and the schema's words.
 */

export interface Kind {
  readonly name: string;
  /** Of its blanks: which are filled in, and with what kind of thing. */
  readonly pattern: RegExp;
  /** The question with blanks in angle brackets; `pattern` finds them again, in this order. */
  readonly wording: string;
  /** The query for the blanks, by name. */
  query(blanks: Readonly<Record<string, string>>): string;
}

/** `<owner>` and `<owned>` are nouns, whose tables have an s; `<value>` is quoted in the question. */
function kind(name: string, wording: string, query: Kind["query"]): Kind {
  const escaped = wording.replace(/[.?]/g, "\\$&");
  const source = escaped.replace(/<(\w+)>/g, (_, blank: string) => `(?<${blank}>[\\w -]+?)`);
  return { name, wording, query, pattern: new RegExp(`^${source}$`, "m") };
}

export const KINDS: readonly Kind[] = [
  kind(
    "count",
    'How many <owned>s have the <word> "<value>"?',
    ({ owned, word, value }) => `SELECT COUNT(*) FROM ${owned}s WHERE ${word} = '${value}'`,
  ),
  kind(
    "filter",
    "List the name of every <owned> whose <number> is more than <value>.",
    ({ owned, number, value }) => `SELECT name FROM ${owned}s WHERE ${number} > ${value}`,
  ),
  kind(
    "most",
    "Which <owned> has the highest <number>? Give its name.",
    ({ owned, number }) => `SELECT name FROM ${owned}s ORDER BY ${number} DESC LIMIT 1`,
  ),
  kind(
    "least",
    "Which <owned> has the lowest <number>? Give its name.",
    ({ owned, number }) => `SELECT name FROM ${owned}s ORDER BY ${number} LIMIT 1`,
  ),
  kind(
    "join",
    'List the name of every <owned> of a <owner> with the <word> "<value>".',
    ({ owned, owner, word, value }) =>
      `SELECT ${owned}s.name FROM ${owned}s JOIN ${owner}s ON ${owned}s.${owner}_id = ${owner}s.id ` +
      `WHERE ${owner}s.${word} = '${value}'`,
  ),
  kind(
    "average",
    'What is the average <number> of the <owned>s with the <word> "<value>"?',
    ({ owned, number, word, value }) =>
      `SELECT AVG(${number}) FROM ${owned}s WHERE ${word} = '${value}'`,
  ),
  kind(
    "total",
    'What is the total <number> of the <owned>s of the <owner> called "<value>"?',
    ({ owned, owner, number, value }) =>
      `SELECT SUM(${owned}s.${number}) FROM ${owned}s JOIN ${owner}s ` +
      `ON ${owned}s.${owner}_id = ${owner}s.id WHERE ${owner}s.name = '${value}'`,
  ),
  kind(
    "groups",
    "For each <word>, how many <owned>s are there?",
    ({ owned, word }) => `SELECT ${word}, COUNT(*) FROM ${owned}s GROUP BY ${word}`,
  ),
  kind(
    "without",
    "List the name of every <owner> without any <owned>.",
    ({ owner, owned }) =>
      `SELECT name FROM ${owner}s WHERE id NOT IN (SELECT ${owner}_id FROM ${owned}s)`,
  ),
  kind(
    "busiest",
    "Which <owner> has more than <value> <owned>s? List their names.",
    ({ owner, owned, value }) =>
      `SELECT ${owner}s.name FROM ${owner}s JOIN ${owned}s ON ${owned}s.${owner}_id = ${owner}s.id ` +
      `GROUP BY ${owner}s.id HAVING COUNT(*) > ${value}`,
  ),
];

export function wordingOf({ wording }: Kind, blanks: Readonly<Record<string, string>>): string {
  return wording.replace(/<(\w+)>/g, (_, blank: string) => blanks[blank]!);
}

/** The query for a question of these kinds; undefined for any other. */
export function readQuestion(text: string): { kind: Kind; query: string } | undefined {
  for (const kind of KINDS) {
    const blanks = kind.pattern.exec(text)?.groups;
    if (blanks) return { kind, query: kind.query(blanks) };
  }
  return undefined;
}
