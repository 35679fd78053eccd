/**
 * @file The nouns of titles, beside what is known of spaCy's.
 */
import { describe, expect, it } from "vitest";
import { nounsOf } from "../../../src/environments/webshop/reward/nouns.ts";
import { typeReward } from "../../../src/environments/webshop/reward/type.ts";
import { GOAL, PRODUCT } from "./lamp.ts";

describe("nouns", () => {
  /** The wanted title, the bought one, and the share that spaCy's model gives in the original's tests. */
  const KNOWN: readonly (readonly [string, string, number])[] = [
    [
      "adidas Unisex-Adult D.o.n. Issue 2 Basketball Shoe",
      "adidas Unisex-Adult D.o.n. Issue 2 Indoor Court Shoe",
      0.85,
    ],
    [
      "Saireed UL Listed 2 Prong Power Cord for JBL Bar 3.1 Bar 2.1 Channel 4K Ultra HD Soundbar Home Theater System Subwoofer",
      "BRST AC Power Cord Outlet Socket Cable Plug Lead for Panasonic SC-HT830V DVD/VCR Combo Home Theater System",
      0.31,
    ],
    [
      "Saireed UL Listed 2 Prong Power Cord for JBL Bar 3.1 Bar 2.1 Channel 4K Ultra HD Soundbar",
      "BRST AC Power Cord Outlet Socket Cable Plug Lead for Panasonic SC-HT830V DVD/VCR Combo Home Theater System",
      0.17,
    ],
    [
      "Rusticware 921ORB Kitchen and Bath Cabinet Knob",
      "Minkissy 2pcs Stainless Steel Eyebrow Tweezers Blackhead Acne Remover Portable Makeup Tweezers (Silver)",
      0,
    ],
    ["Name 1", "Name 1", 1],
  ];

  it.each(KNOWN)("of %s agree with spaCy's to 0.02", (wanted, bought, share) => {
    const product = { ...PRODUCT, title: bought };
    const { titleScore } = typeReward(product, { ...GOAL, name: wanted }, nounsOf);
    expect(Math.abs(titleScore - share)).toBeLessThan(0.02);
  });

  it("are found in any text", () => {
    expect(nounsOf("")).toEqual([]);
    expect(nounsOf("The quick lamp and a Bulb")).toEqual(["lamp", "bulb"]);
    expect(nounsOf("x ".repeat(100_000)).length).toBeGreaterThan(0);
    expect(() => nounsOf("\ud800\u0000 \u{1f600}")).not.toThrow();
  });
});
