/**
 * @file Which network addresses are private: this machine's, the local network's, the cloud's own.
 */
import { BlockList, isIP } from "node:net";

const PRIVATE = new BlockList();
for (const [network, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const)
  PRIVATE.addSubnet(network, bits, "ipv4");
// Of IPv6 only 2000::/3 is given out; within it, tunnels lead to any IPv4 address.
const PUBLIC = new BlockList();
PUBLIC.addSubnet("2000::", 3, "ipv6");
for (const [network, bits] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const)
  PRIVATE.addSubnet(network, bits, "ipv6");

/** Addresses that cannot be read count as private. */
export function isPrivate(address: string): boolean {
  const plain = address.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
  if (isIP(plain) === 4) return PRIVATE.check(plain, "ipv4");
  if (isIP(plain) !== 6) return true;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  if (mapped !== undefined) return isPrivate(mapped);
  return !PUBLIC.check(plain, "ipv6") || PRIVATE.check(plain, "ipv6");
}
