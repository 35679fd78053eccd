/**
 * @file Which machine this is, as far as process numbers go: two containers on one computer are two
 * machines, because a number of one says nothing in the other.
 */
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** Equal exactly where process numbers can be compared. */
export function machineName(): string {
  return [hostname(), bootOf(), namespaceOf()].filter(Boolean).join(" ");
}

/** Another one after every start of the kernel, and the same in all its containers. */
function bootOf(): string {
  return whereThereIs(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
}

function namespaceOf(): string {
  return whereThereIs(() => readlinkSync("/proc/self/ns/pid"));
}

/** Nothing on systems without /proc: there the host's name must do. */
function whereThereIs(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
