/**
 * @file Every page of the 413 given transcripts of the original, and how far searches agree.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  checkWebshop,
  type GoldenPages,
  searchOverlap,
  withShop,
} from "../../../tools/golden/webshop.ts";
import { isMissing, sharedFile } from "../../support/shared.ts";

const PAGES = "golden/webshop_pages.json";
const TRANSCRIPTS = "data/openmanus/webshop";

describe.skipIf(isMissing(PAGES, TRANSCRIPTS))("the given transcripts", () => {
  const golden = () => JSON.parse(readFileSync(sharedFile(PAGES), "utf8")) as GoldenPages;

  it("are reproduced piece by piece", async () => {
    const results = await checkWebshop(golden(), sharedFile(TRANSCRIPTS));
    expect(results.filter(({ problems }) => problems.length > 0)).toEqual([]);
    expect(results.find(({ name }) => name === "pages")?.remark).toBe(
      "413 index pages, 415 results pages, 1261 item pages",
    );
  });

  it("have searches that ours agree with, as far as titles go", () => {
    const overlap = withShop(golden(), (shop) => searchOverlap(golden(), shop));
    expect(overlap.searches).toBe(413);
    expect(overlap.onFirstPage).toBeGreaterThan(0.45);
    expect(overlap.sameFirst).toBeGreaterThan(0.65);
  });
});
