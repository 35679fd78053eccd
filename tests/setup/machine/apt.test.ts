/** @file Installing packages with a make-believe apt. */

import { describe, expect, it } from "vitest";
import { installPackages } from "../../../src/setup/machine/apt.ts";
import { type FakeRun, fakeRun } from "../fakes.ts";

const KNOWN = { stdout: "libtorch-dev:\n  Installed: (none)\n  Candidate: 1.13.1\n" };
const UNKNOWN = { stdout: "libtorch-dev:\n  Installed: (none)\n  Candidate: (none)\n" };

const install = ({ run }: FakeRun, userId: number, report: string[] = []) =>
  installPackages(["libtorch-dev"], { run, userId, report: (line) => report.push(line) });
const aptLines = ({ lines }: FakeRun) => lines.filter((line) => line.includes("noninteractive"));

describe("installPackages", () => {
  it("installs directly as root, without updating lists it does not need to", async () => {
    const fake = fakeRun([[/^apt-cache policy/, KNOWN]]);
    const report: string[] = [];
    await install(fake, 0, report);
    expect(aptLines(fake)).toEqual([
      expect.stringMatching(
        /^env DEBIAN_FRONTEND=noninteractive apt-get .* install --no-install-recommends libtorch-dev$/,
      ),
    ]);
    expect(report[0]).toBe("apt-get install libtorch-dev …");
  });

  it("updates the lists when the package is unknown", async () => {
    const fake = fakeRun([[/^apt-cache policy/, UNKNOWN]]);
    await install(fake, 0);
    expect(aptLines(fake).map((line) => line.split(" ").at(-1))).toEqual([
      "update",
      "libtorch-dev",
    ]);
  });

  it("updates and tries again when the lists are stale", async () => {
    const fake = fakeRun([
      [/^apt-cache policy/, KNOWN],
      [/ install /, { status: 100, stderr: "E: 404 Not Found\n" }],
    ]);
    await expect(install(fake, 0)).rejects.toThrow(/could not install libtorch-dev:\n {2}E: 404/);
    expect(aptLines(fake)).toHaveLength(3);
  });

  it("uses sudo that asks for nothing", async () => {
    const fake = fakeRun([[/^apt-cache policy/, KNOWN]]);
    await install(fake, 1000);
    expect(aptLines(fake)[0]).toMatch(/^sudo -n env DEBIAN_FRONTEND=noninteractive apt-get/);
  });

  it("says what to type when it may not install", async () => {
    const fake = fakeRun([[/^sudo/, { status: 1 }]]);
    await expect(install(fake, 1000)).rejects.toThrow(
      /sudo apt-get install --no-install-recommends libtorch-dev\nThen run: npm run setup/,
    );
    expect(aptLines(fake)).toEqual([]);
  });

  it("says what to do where there is no apt", async () => {
    const fake = fakeRun([[/^apt-get --version/, { status: 127 }]]);
    await expect(install(fake, 0)).rejects.toThrow(/no apt-get[\s\S]*pip install torch/);
  });
});
