/** @file Which libtorch wins, and what is said about the ones that do not. */

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findLibtorch } from "../../../src/setup/libtorch/find.ts";
import { fakeLibtorch, temporaryFolder, writeFiles } from "../fakes.ts";

/** A folder with a python3 that answers as a Python with this torch (or none) would. */
function fakePython(torch: string | null): string {
  const folder = temporaryFolder();
  const answer = { origin: torch && join(torch, "__init__.py"), path: [join(folder, "packages")] };
  return writeFiles(folder, { "bin/python3!": `#!/bin/sh\necho '${JSON.stringify(answer)}'\n` });
}

const noSystem = { systemPrefixes: [] };

describe("findLibtorch", () => {
  it("takes OPENMANUS_LIBTORCH before all others", async () => {
    const wished = fakeLibtorch(temporaryFolder(), { version: "2.2.0" });
    const python = fakePython(fakeLibtorch(temporaryFolder()));
    const environment = { OPENMANUS_LIBTORCH: wished, PATH: join(python, "bin") };
    const { libtorch } = await findLibtorch({ environment, ...noSystem });
    expect(libtorch).toMatchObject({ origin: "environment", version: "2.2.0" });
  });

  it("does not fall through when OPENMANUS_LIBTORCH is wrong", async () => {
    const system = fakeLibtorch(temporaryFolder());
    const environment = { OPENMANUS_LIBTORCH: "/nowhere/at/all" };
    const attempt = findLibtorch({ environment, systemPrefixes: [system] });
    await expect(attempt).rejects.toThrow(
      /OPENMANUS_LIBTORCH=\/nowhere\/at\/all cannot be used\. .* no such folder[\s\S]*unset it/,
    );
  });

  it("takes the active environment's Python before the PATH's", async () => {
    const active = fakePython(fakeLibtorch(temporaryFolder(), { version: "2.4.0" }));
    const other = fakePython(fakeLibtorch(temporaryFolder(), { version: "2.3.0" }));
    const path = { PATH: `/does/not/exist:${join(other, "bin")}:/usr/bin:/bin` };
    const both = await findLibtorch({ environment: { VIRTUAL_ENV: active, ...path }, ...noSystem });
    expect(both.libtorch).toMatchObject({ origin: "python", version: "2.4.0" });
    const one = await findLibtorch({ environment: path, ...noSystem });
    expect(one.libtorch).toMatchObject({ origin: "python", version: "2.3.0" });
  });

  it("goes on to the PATH's Python, and to the system, when there is no torch", async () => {
    const empty = fakePython(null);
    const system = fakeLibtorch(temporaryFolder(), { version: "1.13.0" });
    const environment = { VIRTUAL_ENV: empty, PATH: join(fakePython(null), "bin") };
    const found = await findLibtorch({ environment, systemPrefixes: [temporaryFolder(), system] });
    expect(found.libtorch).toMatchObject({ origin: "system", version: "1.13.0" });
    expect(found.notes).toEqual([]);
    // Installing torch there later adds a name to this folder, and set-up must look again.
    expect(found.watched).toContain(join(empty, "packages"));
  });

  it("leaves a Python torch without headers aside, and says so", async () => {
    const headless = writeFiles(temporaryFolder(), { "__init__.py": "" });
    const environment = { PATH: join(fakePython(headless), "bin") };
    const found = await findLibtorch({ environment, ...noSystem });
    expect(found.libtorch).toBeUndefined();
    expect(found.notes[0]).toMatch(/not using the torch of .*python3: .*no include\/ATen\/ATen\.h/);
  });

  it("survives a Python that does not run", async () => {
    const folder = writeFiles(temporaryFolder(), { "python3!": "#!/bin/sh\nexit 3\n" });
    const found = await findLibtorch({ environment: { PATH: folder }, ...noSystem });
    expect(found.libtorch).toBeUndefined();
  });

  it('skips Python for "system"', async () => {
    const python = fakePython(fakeLibtorch(temporaryFolder()));
    const system = fakeLibtorch(temporaryFolder(), { version: "1.13.0" });
    const environment = { OPENMANUS_LIBTORCH: "system", PATH: join(python, "bin") };
    const found = await findLibtorch({ environment, systemPrefixes: [system] });
    expect(found.libtorch?.origin).toBe("system");
  });
});
