/**
 * @file Tools in the hands of a model that means harm, or of a server that does: calculations that would
 * take hours, code that looks for the machine, servers that flood, lie and leave programs behind.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { toolMakers } from "../../src/environments/index.ts";
import { callTool, type Tool } from "../../src/environments/tools/tool.ts";
import { temporaryFolder } from "../rollout/support.ts";

const folder = temporaryFolder();
const support = (name: string) => fileURLToPath(new URL(`./support/${name}`, import.meta.url));

describe("the calculator", () => {
  /** Numbers by which the same expressions come every time. */
  let state = 1;
  const draw = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(draw() * items.length)]!;

  const NUMBERS = [
    ...["1", "7", "0.1", "9.99", "pi", "1/3", "1e999", "1e-999", "1.37e-500", "3^99", "7^600"],
    ...["3^12000", "2^19999", "1500!", "300!", "(7^600/3^900)", "(7^60/11^50)", "(1/7^1000)"],
    ...["17".repeat(200), `.${"3".repeat(900)}`, "(1/17^300)"],
  ];
  const OPERATORS = ["+", "-", "*", "/", "%", "^"];
  const OF_ONE = ["abs", "floor", "ceil", "round", "sqrt", "ln", "sin", "factorial"];
  const OF_TWO = ["pow", "mod", "gcd", "lcm", "comb", "perm", "round", "log"];
  const OF_MANY = ["min", "max", "sum", "mean"];

  /** An expression of about so many characters. */
  function expression(length: number): string {
    if (length < 8) return pick(NUMBERS);
    const repeated = (part: string, most: number) =>
      Array.from(
        { length: Math.min(most, Math.max(1, Math.floor(length / (part.length + 1)))) },
        () => part,
      );
    switch (Math.floor(draw() * 8)) {
      case 0:
        return expression(length / 4) + repeated(pick(OPERATORS) + expression(12), 2500).join("");
      case 1:
        return `${expression(length / 2)}${pick(OPERATORS)}${expression(length / 2)}`;
      case 2:
        return `${pick(OF_ONE)}(${expression(length - 8)})`;
      case 3:
        return `${pick(OF_TWO)}(${expression(length / 2 - 4)},${expression(length / 2 - 4)})`;
      case 4:
      case 5:
        return `${pick(OF_MANY)}(${repeated(expression(14), 900).join(",")})`;
      case 6:
        return "-".repeat(length / 2) + expression(length / 2);
      default:
        return `(${expression(length - 6)})${pick(["!", "^2", "^-3", "%", "^0.5"])}`;
    }
  }

  it("takes no time over any expression that it accepts", async () => {
    const calculator = await toolMakers.calculator();
    const timed = (text: string): number => {
      const start = performance.now();
      try {
        calculator.execute({ expression: text });
      } catch (error) {
        expect((error as Error).name).toBe("CalculationError");
      }
      return performance.now() - start;
    };
    const known = [
      "7^6900/3^12500",
      `7^6900/3^12500${"-1".repeat(130)}`,
      `${"-".repeat(4900)}1`,
      `1500!${"-1500!".repeat(800)}`,
      `max(${Array.from({ length: 350 }, () => "7^601/3^991").join(",")})`,
      `1e-999+1e-998${"+1e-997".repeat(600)}`,
      `sqrt(7^7000)${"+sqrt(7^7000)".repeat(370)}`,
      `${"(".repeat(190)}7^600/3^900${")+1/7".repeat(190)}`,
      `1/2^19000${"+1/2^19000".repeat(400)}`,
    ];
    const drawn = Array.from({ length: 1500 }, () =>
      expression(pick([20, 300, 4900])).slice(0, 5000),
    );
    const slow = [...known, ...drawn].filter((text) => timed(text) > 50);
    // Another program, or the garbage of those before, may have come between: best of some.
    for (const text of slow)
      expect(
        Math.min(...Array.from({ length: 8 }, () => timed(text))),
        text.slice(0, 200),
      ).toBeLessThan(50);
  }, 60_000);
});

describe("the sandbox", () => {
  const opened: Tool[] = [];
  afterEach(async () => {
    for (const tool of opened.splice(0)) await tool.close?.();
  });

  it.each([
    ["Date.now()", "0"],
    ["Date()", "Thu Jan 01 1970 00:00:00 GMT+0000"],
    ["new Date().getTime() + Date.prototype.constructor.now()", "0"],
    ["new Date(2020, 0, 1).getTimezoneOffset()", "0"],
    [
      "class Day extends Date {}; [new Day().getTime(), new Day(5).getTime(), new Day() instanceof Date]",
      "[0,5,true]",
    ],
    [
      "[Object.getPrototypeOf(Date), Object.getPrototypeOf(Date.prototype)].map((one) => typeof one.now + typeof one.constructor.now)",
      '["undefinedundefined","undefinedundefined"]',
    ],
    [
      "[Date.parse('2020-01-01'), Date.UTC(2020), new Date(7).toISOString()]",
      '[1577836800000,1577836800000,"1970-01-01T00:00:00.007Z"]',
    ],
    [
      "[typeof performance, typeof crypto, typeof process, typeof require]",
      '["undefined","undefined","undefined","undefined"]',
    ],
    ["Math.random() === Math.random()", "false"],
  ])("knows no clock of this machine: %s", async (code, value) => {
    const javascript = await toolMakers.javascript();
    opened.push(javascript);
    expect(await javascript.execute({ code })).toBe(value);
  });

  it("draws the same random numbers in every run", async () => {
    const javascript = await toolMakers.javascript();
    opened.push(javascript);
    const code = "[Math.random(), Math.random()]";
    expect(await javascript.execute({ code })).toBe(await javascript.execute({ code }));
  });

  it.each([
    ["'a\\0b'", "a\0b"],
    ["print('a\\0b', 'c'); print('d')", "a\0b c\nd"],
    ["'\\ud800x'", "\ud800x"],
    ["'a\0b' + 1", "a\0b1"],
  ])("gives texts whole: %j", async (code, value) => {
    const javascript = await toolMakers.javascript();
    opened.push(javascript);
    expect(await javascript.execute({ code })).toBe(value);
  });

  it("tells the whole of an error", async () => {
    const javascript = await toolMakers.javascript();
    opened.push(javascript);
    const { text } = await callTool(javascript, { code: "throw new Error('x\\0y')" }, 1000);
    expect(text).toBe("javascript failed: Error: x\0y");
  });
});

describe("an MCP server that is a program", () => {
  const command = (behaviour: string, file = "") =>
    `"${process.execPath}" "${support("mcp-attacker.mjs")}" ${behaviour} ${file}`;
  const opened: Tool[] = [];
  afterEach(async () => {
    for (const tool of opened.splice(0)) await tool.close?.();
  });
  const say = async (behaviour: string, call = 20_000) => {
    const tools = await toolMakers.mcp(command(behaviour), { start: 20_000, call });
    opened.push(...tools);
    return callTool(tools[0]!, {}, 10_000);
  };

  it.each([
    ["many", /lists more than 1000 tools/],
    ["schema", /arguments of say with more than 100000 characters/],
    ["deep", /arguments of say with more than 100000 characters/],
    ["schemas", /describes its tools with more than 1000000 characters/],
    ["pages", /more than 100 pages/],
  ])("that lists its tools too richly (%s) is refused", async (behaviour, message) => {
    await expect(toolMakers.mcp(command(behaviour))).rejects.toThrow(message);
  });

  it("that talks without end about a tool is cut short", async () => {
    const [tool] = await toolMakers.mcp(command("description"));
    opened.push(tool!);
    expect(tool!.description.length).toBeLessThan(11_000);
    expect(tool!.description).toMatch(/characters left out/);
  });

  it.each([
    ["null", /^said$/],
    ["bytes", /^sa\uFFFDid$/],
    ["line", /failed: the server sent a line without end/],
    ["notifications", /failed: the server sends messages without end that nobody asked for/],
    ["pings", /failed: the server (does not read what it is sent|sends messages without end)/],
  ])(
    "that answers oddly (%s) is understood, or ended with the reason",
    async (behaviour, text) => {
      const before = process.memoryUsage().rss;
      expect((await say(behaviour)).text).toMatch(text);
      expect(process.memoryUsage().rss - before).toBeLessThan(500e6);
    },
    40_000,
  );

  const left: number[] = [];
  afterAll(() => {
    for (const number of left)
      try {
        process.kill(number, "SIGKILL");
      } catch {
        // As it should be.
      }
  });

  it.each(["exits", "ends", "throws", "SIGTERM", "SIGINT", "SIGHUP"])(
    "leaves no program of its own behind when ours %s",
    async (ending) => {
      const file = join(folder, `pid-${ending}`);
      const isSignal = ending.startsWith("SIG");
      const child = spawn(
        process.execPath,
        [
          ...["--import", "tsx", support("holds-server.ts")],
          ...[isSignal ? "waits" : ending, command("grandchild", file)],
        ],
        { stdio: ["ignore", "pipe", "ignore"] },
      );
      const exited = once(child, "exit");
      await once(child.stdout, "data");
      const grandchild = Number(readFileSync(file, "utf8"));
      left.push(grandchild);
      if (isSignal) {
        expect(isRunning(grandchild)).toBe(true);
        child.kill(ending as NodeJS.Signals);
      }
      const [code, signal] = (await exited) as [number | null, string | null];
      expect(isSignal ? signal : code).toBe(isSignal ? ending : ending === "throws" ? 1 : 0);
      for (let wait = 0; isRunning(grandchild) && wait < 100; wait++)
        await new Promise((resolve) => setTimeout(resolve, 20));
      expect(isRunning(grandchild)).toBe(false);
    },
    40_000,
  );
});

/** Whether a process is there and has not ended; ended ones stay listed until somebody asks for them. */
function isRunning(number: number): boolean {
  const file = `/proc/${number}/stat`;
  if (existsSync("/proc/self/stat")) {
    if (!existsSync(file)) return false;
    const text = readFileSync(file, "utf8");
    return !/^[ZX]/.test(text.slice(text.lastIndexOf(")") + 2));
  }
  try {
    return process.kill(number, 0);
  } catch {
    return false;
  }
}
