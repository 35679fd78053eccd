/**
 * @file Questions to databases: SqlGym's own answers, the published transcripts, generated questions, and
 * queries that mean no good.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sqlite3Init from "@sqlite.org/sqlite-wasm";
import { afterAll, describe, expect, it } from "vitest";
import { verifyWorld } from "../../../src/cli/support/worlds/verify.ts";
import {
  EnvironmentError,
  openWorld,
  type Task,
  type World,
} from "../../../src/environments/index.ts";
import { openDatabase, statementsIn } from "../../../src/environments/sql/engine/sqlite.ts";
import { type Schema, schemaText } from "../../../src/environments/sql/schema-text.ts";
import { queryIn } from "../../../src/environments/sql/world.ts";
import { isMissing } from "../../support/shared.ts";
import { transcripts } from "../transcripts.ts";

const LIMITS = { work: 1000, memory: 64 * 2 ** 20, rows: 1000 };
const folder = mkdtempSync(join(tmpdir(), "sql-"));
const worlds: World[] = [];
const open = async (options: Record<string, unknown> = {}): Promise<World> => {
  const world = await openWorld("sql", { processes: 1, ...options });
  worlds.push(world);
  return world;
};
afterAll(async () => {
  for (const world of worlds) await world.close?.();
  rmSync(folder, { recursive: true });
});

interface Golden {
  readonly script: string;
  readonly tables: readonly unknown[];
  readonly question: unknown;
  readonly observation: string;
  readonly answers: readonly (readonly [query: string, text: string, reward: number])[];
}
const golden = JSON.parse(readFileSync(new URL("sqlgym.json", import.meta.url), "utf8")) as Golden;

/** A folder as BIRD's, with one database. */
async function birdFolder(): Promise<string> {
  const at = join(folder, "bird", "dev");
  mkdirSync(join(at, "dev_databases", "shop"), { recursive: true });
  writeFileSync(join(at, "dev.json"), JSON.stringify([golden.question]));
  writeFileSync(join(at, "dev_tables.json"), JSON.stringify(golden.tables));
  const sqlite3 = await sqlite3Init();
  const database = new sqlite3.oo1.DB(":memory:", "c");
  database.exec(golden.script);
  const bytes = sqlite3.capi.sqlite3_js_db_export(database);
  writeFileSync(join(at, "dev_databases", "shop", "shop.sqlite"), bytes);
  database.close();
  return join(folder, "bird");
}

describe("a folder of BIRD", () => {
  it("is asked and answered as the sqlgym package does, word for word", async () => {
    const world = await open({ data: await birdFolder() });
    const environment = world.environment();
    const task = (await world.tasks("dev")).task(0);
    expect(task.type).toBe("simple");
    for (const [query, text, reward] of golden.answers) {
      expect((await environment.reset(task)).text).toBe(golden.observation);
      const result = await environment.step(query);
      expect([result.observation.text, result.reward, result.done, result.won]).toEqual([
        ...[text, reward, true, reward === 1],
      ]);
    }
    expect(await verifyWorld(world, ["dev"])).toEqual({ games: 1, won: 1, failures: [] });
  });

  it("is refused in sentences where it is not as it should be", async () => {
    await expect(open({ data: folder })).rejects.toThrow(/is it BIRD's folder/);
    const at = join(folder, "wrong", "dev");
    mkdirSync(at, { recursive: true });
    writeFileSync(join(at, "dev.json"), '[{"db_id": "../../etc", "question": "?", "SQL": "x"}]');
    writeFileSync(join(at, "dev_tables.json"), "[]");
    await expect(open({ data: join(folder, "wrong") })).rejects.toThrow(/not as BIRD writes it/);
    writeFileSync(join(at, "dev.json"), JSON.stringify([golden.question]));
    writeFileSync(join(at, "dev_tables.json"), JSON.stringify(golden.tables));
    const world = await open({ data: join(folder, "wrong") });
    const environment = world.environment();
    await environment.reset((await world.tasks("dev")).task(0));
    await expect(async () => environment.step("SELECT 1")).rejects.toThrow(/of no use: ENOENT/);
  });
});

describe("the published transcripts", () => {
  const missing = isMissing("data/openmanus/sqlgym/val.parquet");
  it.skipIf(missing)("describe schemas as we do: 20 of 20, word for word", async () => {
    let same = 0;
    for (const { turns } of await transcripts("sqlgym", ["val"])) {
      const [words, question] = turns[0]!.said.split("\n\n") as [string, string];
      expect(schemaText(readSchema(words), true)).toBe(words);
      expect(question.length).toBeGreaterThan(10);
      same++;
    }
    expect(same).toBe(20);
  });

  // Their databases (BIRD) are not in the data, so that results cannot be compared.
  it.skipIf(missing)(
    "have queries that compile on a database of the tables described",
    async () => {
      const found = { compiles: 0, others: 0 };
      for (const { turns } of await transcripts("sqlgym", ["val"])) {
        const schema = readSchema(turns[0]!.said.split("\n\n")[0]!);
        const database = await openDatabase(emptyTables(schema), LIMITS);
        const { error } = database.query(queryIn(turns[0]!.reply));
        database.close();
        if (error === undefined) found.compiles++;
        // Of the others, the description does not tell the real name: "organ" is called "organization".
        else found.others += /^no such (column|table): /.test(error) ? 1 : 100;
      }
      expect(found).toEqual({ compiles: 12, others: 8 });
    },
  );
});

/** The schema that the words describe; of foreign keys, some columns that are named so. */
function readSchema(words: string): Schema {
  const [, name, names] = /^(\S+) contains tables such as (.*?)\. Table/.exec(words)!;
  const tables = names!.split(", ");
  const columns: [number, string][] = [[-1, "*"]];
  const primaryKeys: number[] = [];
  const described = /Table (.+?) has columns such as (.+?)\. (.*?) is the primary key\./g;
  for (const [, table, list, keys] of words.matchAll(described)) {
    const first = columns.length;
    for (const column of list!.split(", ")) columns.push([tables.indexOf(table!), column]);
    for (const key of keys!.split(", ").filter(Boolean))
      primaryKeys.push(columns.findIndex(([, column], i) => i >= first && column === key));
  }
  const numberOf = (words: string): number => {
    for (const [at, table] of tables.entries()) {
      if (!words.endsWith(` of ${table}`)) continue;
      const named = words.slice(0, -` of ${table}`.length);
      const number = columns.findIndex(
        ([owner], i) =>
          i > 0 && owner === at && columns[(i % (columns.length - 1)) + 1]![1] === named,
      );
      if (number > 0) return number;
    }
    throw new Error(`no column is called ${words}`);
  };
  const foreign = /The ([^.]+?) is the foreign key of ([^.]+?)\.(?= The|$)/g;
  const foreignKeys = [...words.matchAll(foreign)].map(([, from, to]): [number, number] => [
    numberOf(from!),
    numberOf(to!),
  ]);
  return { name: name!, tables, columns, primaryKeys, foreignKeys };
}

/** Descriptions say "review length" where the column may be review_length, or ReviewLength. */
function emptyTables({ tables, columns }: Schema): string {
  return tables
    .map((table, number) => {
      const names = columns.flatMap(([at, name], i) =>
        i > 0 && at === number ? [name, name.replaceAll(" ", "_"), name.replaceAll(" ", "")] : [],
      );
      return `CREATE TABLE "${table}" (${[...new Set(names)].map((name) => `"${name}"`).join(", ")});`;
    })
    .join("\n");
}

describe("generated questions", () => {
  it("are answered by their own queries and by the expert, in every kind", async () => {
    const world = await open();
    expect(await verifyWorld(world, ["train", "test"], 30)).toMatchObject({ games: 60, won: 60 });
    const environment = world.environment();
    const tasks = await world.tasks("test");
    const types = new Set<string>();
    for (let index = 0; index < 30; index++) {
      const observation = await environment.reset(tasks.task(index));
      const result = await environment.step(world.expert!(0).act(observation));
      expect(result.won, observation.text).toBe(true);
      types.add(tasks.type(index)!);
    }
    expect(types.size).toBe(10);
  });

  it("are the same by seed, and others by another; test databases are about other things", async () => {
    const text = async (options: Record<string, unknown>, split: string) => {
      const world = await open(options);
      return (await world.environment().reset((await world.tasks(split)).task(3))).text;
    };
    expect(await text({}, "train")).toBe(await text({}, "train"));
    expect(await text({}, "train")).not.toBe(await text({ seed: 1 }, "train"));
    expect(await text({}, "test")).toMatch(/^(museum|league) contains/);
  });

  it("may have several attempts, and take a reply's fence for the query", async () => {
    const world = await open({ attempts: 2 });
    const environment = world.environment();
    const task = (await world.tasks("train")).task(0);
    await environment.reset(task);
    expect(await environment.step("SELECT -1")).toMatchObject({ done: false, reward: 0 });
    const [gold] = (await world.solution!(task))!;
    const fenced = `Thought: so.\n\nAction: \`\`\`sql\n${gold}\n\`\`\``;
    expect(await environment.step(fenced)).toMatchObject({ done: true, won: true, reward: 1 });
    const wrong: Task = { ...task, data: { seed: -1 } };
    expect(() => environment.reset(wrong)).toThrow(EnvironmentError);
  });
});

describe("queries that mean no good", () => {
  const refusals: readonly (readonly [query: string, error: RegExp])[] = [
    [
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n",
      /^interrupted$/,
    ],
    [
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
      /more than 1000 rows/,
    ],
    ["SELECT COUNT(*) FROM t a, t b, t c, t d, t e, t f, t g, t h, t i, t j", /^interrupted$/],
    ["ATTACH DATABASE '/etc/passwd' AS other", /not authorized/],
    ["VACUUM INTO '/tmp/copy.db'", /readonly|not authorized/],
    ["PRAGMA hard_heap_limit=0", /not authorized/],
    ["PRAGMA writable_schema=ON", /not authorized/],
    ["CREATE TABLE u (x)", /readonly database/],
    ["CREATE TEMP TABLE u (x)", /readonly database/],
    ["WITH a AS (SELECT 1) DELETE FROM t", /readonly database/],
    ["INSERT INTO t VALUES (1)", /readonly database/],
    ["DROP TABLE t", /readonly database/],
    ["BEGIN", /readonly database/],
    ["SELECT load_extension('x')", /no such function|not authorized/],
    ["SELECT readfile('/etc/passwd')", /no such function/],
    ["SELECT random()", /not authorized to use function: random/],
    ["SELECT zeroblob(2000000000)", /too big/],
    [
      "WITH RECURSIVE n(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM n) SELECT MAX(LENGTH(s)) FROM n",
      /too big|memory/,
    ],
    [`SELECT 'a' LIKE '${"%a".repeat(200)}'`, /too complex/],
    [`SELECT '${"x".repeat(200_000)}'`, /too large/],
    ["SELECT 1; DROP TABLE t", /one statement/],
    ["\u0000", /./],
  ];
  it.each(refusals)("%.60s", async (query, error) => {
    const database = await openDatabase(
      "CREATE TABLE t (x); INSERT INTO t VALUES (1),(2),(3),(4),(5),(6),(7),(8)",
      LIMITS,
    );
    expect(database.query(query).error).toMatch(error);
    // And the database is as it was.
    expect(database.query("SELECT COUNT(*) FROM t").rows[0]!.values).toEqual([8]);
    database.close();
  });

  it("have no clock, and statements are counted as SQLite counts them", async () => {
    const database = await openDatabase("CREATE TABLE t (x)", LIMITS);
    expect(database.query("SELECT CURRENT_TIMESTAMP").rows[0]!.values).toEqual([
      "1970-01-01 00:00:00",
    ]);
    database.close();
    expect(statementsIn("SELECT ';' /* ; */ -- ;\n; ;")).toHaveLength(1);
    expect(statementsIn('select "a;b", `c;d`, [e;f]; select 2')).toHaveLength(2);
  });

  it("cost their own episode, however long they take", async () => {
    const world = await open({ work: 2 ** 31, seconds: 0.3 });
    const environment = world.environment();
    const task = (await world.tasks("train")).task(0);
    await environment.reset(task);
    const endless = await environment.step(refusals[0]![0]);
    expect(endless).toMatchObject({ done: true, won: false });
    expect(endless.observation.text).toMatch(/^interrupted after 0.3 s$/);
    await environment.reset(task);
    expect(await environment.step((await world.solution!(task))![0]!)).toMatchObject({ won: true });
  }, 30_000);
});
