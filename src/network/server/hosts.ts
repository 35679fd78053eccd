/**
 * @file The names by which a server is known. A page of the web can make its own name mean 127.0.0.1 and
 * then talk to a server there as if it were its own; what it cannot do is to send another name than its
 * own in the Host header. So a request must name the server by a name that is the server's.
 */

import { isIP, isIPv6 } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { NetworkError } from "../errors.ts";

export interface Bound {
  /** As the user gave it: an address or a name. */
  readonly host: string;
  /** What it is bound to. */
  readonly address: string;
  readonly port: number;
}

const LOCAL = ["127.0.0.1", "localhost", "[::1]"];
const EVERYWHERE = ["0.0.0.0", "::"];

/** Whether only this machine can reach it. */
export function isLoopback(address: string): boolean {
  return /^(::ffff:)?127\./i.test(address) || address === "::1";
}

/** `allowed`: further names, of any port where they have none ("proxy.example", "localhost:8080"). */
export function hostRule(
  { host, address, port }: Bound,
  allowed: readonly string[],
): (header: string) => boolean {
  for (const name of allowed)
    if (!partsOf(name))
      throw new NetworkError(
        `"${name}" is no name of a host; allowed hosts are like proxy.example or localhost:8080.`,
      );
  const others = allowed.map((name) => partsOf(name)!);
  const own = new Set([hostText(host), hostText(address)]);
  const isEverywhere = EVERYWHERE.includes(address);
  if (isEverywhere || isLoopback(address)) for (const name of LOCAL) own.add(name);
  if (isEverywhere) own.add(hostname().toLowerCase());
  return (header) => {
    const given = partsOf(header);
    if (!given) return false;
    if (
      others.some(({ name, port }) => name === given.name && [undefined, given.port].includes(port))
    )
      return true;
    if ((given.port ?? 80) !== port) return false;
    return own.has(given.name) || (isEverywhere && machineAddresses().has(given.name));
  };
}

interface HostParts {
  readonly name: string;
  readonly port: number | undefined;
}

function partsOf(header: string): HostParts | undefined {
  const match = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,255})(?::(\d{1,5}))?$/i.exec(header);
  if (!match) return undefined;
  const [, name, port] = match;
  return { name: hostText(name!), port: port === undefined ? undefined : Number(port) };
}

/** In lower case; version 6 addresses in brackets and in their shortest form. */
function hostText(host: string): string {
  const bare = host.replace(/^\[|\]$/g, "").toLowerCase();
  return isIPv6(bare) ? new URL(`http://[${bare}]`).hostname : bare;
}

/** Asked anew each time: networks come and go. */
function machineAddresses(): ReadonlySet<string> {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return new Set(
    all
      .map(({ address }) => address.replace(/%.*$/, ""))
      .filter((address) => isIP(address) !== 0)
      .map(hostText),
  );
}
