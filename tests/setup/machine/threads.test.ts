/** @file Usable cores under make-believe control groups. */

import { expect, it } from "vitest";
import { availableThreads } from "../../../src/setup/machine/threads.ts";

const cores = (available: number, files: Record<string, string>) =>
  availableThreads(available, (path) => files[path]);

it("is what the scheduler offers without a quota", () => {
  expect(cores(8, {})).toBe(8);
  expect(
    cores(8, { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "max 100000\n" }),
  ).toBe(8);
});

it("respects a version 2 quota", () => {
  const files = { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "250000 100000\n" };
  expect(cores(8, files)).toBe(2);
  expect(cores(1, files)).toBe(1);
});

it("takes the tightest quota on the way up", () => {
  const files = {
    "/proc/self/cgroup": "0::/pod/container\n",
    "/sys/fs/cgroup/pod/container/cpu.max": "600000 100000\n",
    "/sys/fs/cgroup/pod/cpu.max": "300000 100000\n",
    "/sys/fs/cgroup/cpu.max": "max 100000\n",
  };
  expect(cores(16, files)).toBe(3);
});

it("looks at the mount when the path is the host's and not visible here", () => {
  const files = {
    "/proc/self/cgroup": "0::/../../host/only\n",
    "/sys/fs/cgroup/cpu.max": "200000 100000\n",
  };
  expect(cores(16, files)).toBe(2);
});

it("respects a version 1 quota, and reads -1 as none", () => {
  const files = {
    "/proc/self/cgroup": "4:memory:/x\n3:cpu,cpuacct:/docker/abc\n0::/\n",
    "/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us": "400000\n",
    "/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us": "100000\n",
    "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
    "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
  };
  expect(cores(16, files)).toBe(4);
});

it("finds the quota of a hybrid system", () => {
  const files = {
    "/proc/self/cgroup": "1:cpuset:/\n0::/a\n",
    "/sys/fs/cgroup/unified/a/cpu.max": "500000 100000\n",
  };
  expect(cores(16, files)).toBe(5);
});

it("never goes below one, whatever the files say", () => {
  const max = (text: string) => ({ "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": text });
  expect(cores(4, max("50000 100000\n"))).toBe(1);
  expect(cores(4, max(""))).toBe(4);
  expect(cores(4, max("nonsense"))).toBe(4);
  expect(cores(4, max("0 0"))).toBe(4);
});

it("gives a whole positive number here", () => {
  expect(Number.isInteger(availableThreads())).toBe(true);
  expect(availableThreads()).toBeGreaterThanOrEqual(1);
});
