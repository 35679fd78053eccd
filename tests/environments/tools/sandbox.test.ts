/**
 * @file The sandbox: what code can do, and what it cannot, however it tries.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { runCode } from "../../../src/environments/tools/code/run.ts";
import { createSandbox } from "../../../src/environments/tools/code/sandbox.ts";
import { codeTool } from "../../../src/environments/tools/code/tool.ts";
import { callTool } from "../../../src/environments/tools/tool.ts";

const LIMITS = { time: 500, memory: 64 << 20, output: 2000 };
const sandbox = createSandbox(LIMITS, 1);
afterAll(() => sandbox.close());

describe("code", () => {
  it.each([
    ["1 + 1", { printed: "", value: "2" }],
    ["print('a', [1, 2], {b: 3n}); 'c'", { printed: 'a [1,2] {"b":"3"}', value: "c" }],
    ["console.log(1); console.log(2)", { printed: "1\n2" }],
    ["new Map([[1, 2]])", { printed: "", value: "[[1,2]]" }],
    ["(async () => { await null; return 7 })()", { printed: "", value: "7" }],
    ["Promise.resolve().then(() => print('later'))", { printed: "later" }],
    ["const a = [3, 1, 2]; a.sort(); a", { printed: "", value: "[1,2,3]" }],
    ["throw new TypeError('no')", { printed: "", error: "TypeError: no" }],
    ["x", { printed: "", error: "ReferenceError: 'x' is not defined" }],
    ["print(1); null.a", { printed: "1", error: expect.stringMatching(/^TypeError/) }],
    ["let s = 0; for (let i = 0; i < 1e5; i++) s += i; s", { printed: "", value: "4999950000" }],
  ])("%s", async (code, result) => {
    expect(await sandbox.run(code)).toEqual(result);
  });

  it("gives the same every time, and one run knows nothing of another", async () => {
    const code =
      "globalThis.n = (globalThis.n ?? 0) + 1; [n, Math.random(), Date.now(), new Date()]";
    const first = await sandbox.run(code);
    expect(first.value).toBe('[1,0.23645552527159452,0,"1970-01-01T00:00:00.000Z"]');
    await sandbox.run("Object.prototype.bad = 1; Array.prototype.map = null; globalThis.n = 5");
    expect(await sandbox.run(code)).toEqual(first);
  });
});

describe("nothing of this machine is to be found", () => {
  const NAMES =
    "process require module global fetch XMLHttpRequest WebSocket Deno Bun Buffer setTimeout std os bjson scriptArgs Worker WebAssembly";
  it.each([
    [`${JSON.stringify(NAMES.split(" "))}.filter((name) => name in globalThis)`, /^\[\]$/],
    ["typeof print.constructor('return process')", /^function$/],
    ["[].__proto__.toJSON = () => process.env; [1]", /cannot be shown: 'process' is not defined/],
  ])("%s", async (code, value) => {
    expect((await sandbox.run(code)).value).toMatch(value);
  });

  it.each([
    "this.constructor.constructor('return process')().env",
    "globalThis.constructor.constructor('return process.mainModule.require')()('fs')",
    "print.constructor('return process')().exit(1)",
    "(function () { return arguments.callee.caller.caller })().constructor('return process')()",
    "[].constructor.constructor('return require')()('child_process')",
    "Function('return this')().process.env",
    "eval('process.env')",
    "import('fs')",
    "import('node:child_process').then((c) => c.execSync('id'))",
    "import fs from 'fs'",
    "new Error().stack.constructor.constructor('return process')()",
    "Error.prepareStackTrace = (e, frames) => frames[0].getThis().process.env; new Error().stack.x.y",
    "Reflect.getPrototypeOf(async function () {}).constructor('return process')().then((p) => p.env)",
    "new Proxy(print, { apply: (t, self) => self.process.env })()",
    "console.log.__proto__.constructor('return globalThis')().process.version",
    "({}).__proto__.__defineGetter__('env', () => process.env); print.env",
    "Symbol.for('nodejs.util.inspect.custom').process.env",
    "WebAssembly.compile(new Uint8Array(8))",
    "require('fs').readFileSync('/etc/passwd')",
    "std.loadFile('/etc/passwd')",
    "os.exec(['id'])",
  ])("%s is an error", async (code) => {
    const { error, value } = await sandbox.run(code);
    expect(value).toBeUndefined();
    expect(error).toMatch(/Error/);
  });
});

describe("limits hold", () => {
  it("and say so, whenever between two looks at the clock the time is over", async () => {
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 40));
    onTestFinished(() => clock.mockRestore());
    const { error } = await runCode("for (;;);", { ...LIMITS, time: 60 });
    expect(error).toBe("it took longer than 0.06 s and was stopped");
  });

  const late = /longer than 0\.5 s/;
  const memory = /out of memory|too long|too large|Invalid array length|longer than/i;
  const stack = /stack overflow|gave up/i;
  it.each([
    ["a loop", "while (true) {}", late],
    ["loops in finally", "try { while (1) {} } finally { while (1) {} }", late],
    ["a caught interrupt", "for (;;) try { while (1) {} } catch {}", late],
    ["promises without end", "(async () => { for (;;) await 1 })()", late],
    ["a promise that never settles", "new Promise(() => {})", /never settled/],
    ["a slow pattern", "/(a+)+$/.test('a'.repeat(40) + 'b')", late],
    ["a comparison that hangs", "[1, 2].sort(() => { while (1); })", late],
    ["a getter that hangs", "({ get a() { while (1); } })", late],
    ["toJSON that hangs", "({ toJSON() { while (1); } })", late],
    [
      "an error that hangs",
      "throw new (class extends Error { get message() { while (1); } })()",
      late,
    ],
    ["what cannot be interrupted", "Array(2 ** 32 - 2).join('x')", late],
    ["arrays", "const a = []; for (;;) a.push(new Array(1e5).fill(1))", memory],
    ["a string", "let s = 'x'; for (;;) s += s", memory],
    ["a long string", "'x'.repeat(1e9)", memory],
    ["objects in objects", "let x = {}; for (;;) x = { x }", memory],
    ["a buffer", "new Uint8Array(1e9)", memory],
    ["a large number", "2n ** 100000000n", memory],
    ["a sparse array", "Array.from({ length: 1e9 })", memory],
    ["maps", "const m = new Map(); for (let i = 0; ; i++) m.set(i, 'x'.repeat(1e4) + i)", memory],
    ["recursion", "(function f() { f() })()", stack],
    ["recursion in the parser", "JSON.parse('['.repeat(1e5))", stack],
    ["recursion of constructors", "class A { constructor() { new A() } } new A()", stack],
    [
      "recursion through a proxy",
      "const p = new Proxy({}, { get: (t, k, r) => r[k] }); p.x",
      stack,
    ],
    ["long code", `'${"x".repeat(200_000)}'`, /longer than 100000 characters/],
  ])("on %s", async (_, code, error) => {
    expect((await sandbox.run(code)).error).toMatch(error);
    expect(await sandbox.run("1")).toEqual({ printed: "", value: "1" });
  });

  it("on output, of which the beginning is kept", async () => {
    const flood = await sandbox.run("for (;;) print('x'.repeat(100))");
    expect(flood.error).toMatch(late);
    expect(flood.printed).toMatch(/^(x{100}\n)+/);
    expect(flood.printed.length).toBeLessThanOrEqual(2000);
    expect((await sandbox.run("'y'.repeat(1e6)")).value).toBe("y".repeat(2000));
    expect((await sandbox.run("throw new Error('z'.repeat(1e6))")).error!.length).toBeLessThan(
      2100,
    );
  });
});

describe("a thousand runs", () => {
  it("leave nothing behind", async () => {
    const mix = ["1 + 1", "new Array(1e5).fill('x'.repeat(10)).length", "nope", "'x'.repeat(1e9)"];
    const resident = (): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? 0) / 1024;
    const collect = globalThis.gc ?? (() => {});
    for (let i = 0; i < 100; i++) await runCode(mix[i % 4]!, LIMITS);
    collect();
    const before = resident();
    for (let i = 0; i < 1000; i++) await runCode(mix[i % 4]!, LIMITS);
    collect();
    // Megabytes. A single run's memory is 16 to 64; a hundredth of it left behind would show.
    expect(resident() - before).toBeLessThan(200);
  }, 120_000);
});

describe("the sandbox", () => {
  it("runs several at once, each in its turn", async () => {
    const wide = createSandbox(LIMITS, 2);
    const results = await Promise.all([1, 2, 3, 4, 5].map((n) => wide.run(`${n} * 10`)));
    expect(results.map(({ value }) => value)).toEqual(["10", "20", "30", "40", "50"]);
    wide.close();
    await expect(wide.run("1")).rejects.toThrow(/closed/);
  });

  it("ends by itself when nobody is there to end it", async () => {
    const file = fileURLToPath(
      new URL("../../../src/environments/tools/code/process.ts", import.meta.url),
    );
    const child = spawn(process.execPath, ["--import", "tsx", file], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    await once(child, "message");
    child.send({
      work: { code: "Array(2 ** 32 - 2).join('x')", limits: LIMITS },
      time: LIMITS.time,
    });
    expect((await once(child, "exit"))[1]).toBe("SIGKILL");
  }, 30_000);

  it("is stopped by a signal, and goes on with the next", async () => {
    const stopping = new AbortController();
    const run = sandbox.run("while (1) {}", stopping.signal);
    setTimeout(() => stopping.abort(new Error("enough")), 50);
    await expect(run).rejects.toThrow("enough");
    expect(await sandbox.run("2")).toEqual({ printed: "", value: "2" });
  });

  it("is a tool whose failures are observations", async () => {
    const tool = codeTool(LIMITS, 1);
    expect(await callTool(tool, { code: "print(1); 2" }, 1000)).toEqual({
      ...{ text: "1\n2", failed: false },
    });
    expect(await callTool(tool, { code: "print(1); nope" }, 1000)).toEqual({
      ...{
        text: "javascript failed: ReferenceError: 'nope' is not defined\nIt printed:\n1",
        failed: true,
      },
    });
    expect((await callTool(tool, { code: "" }, 1000)).text).toMatch(/nothing was printed/);
    await tool.close!();
  });
});
