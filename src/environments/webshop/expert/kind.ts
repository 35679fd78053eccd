/**
 * @file Which scripted shoppers there are.
 */

export const SHOPPERS = ["thorough", "trusting"] as const;
export type ShopperKind = (typeof SHOPPERS)[number];
