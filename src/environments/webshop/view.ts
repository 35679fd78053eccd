/**
 * @file What a page is seen with: all that is not in the page itself.
 */
import type { Catalogue } from "./product.ts";

export interface View {
  readonly catalogue: Catalogue;
  readonly instruction: string;
  /** The name of the episode in addresses: the goal's id. */
  readonly session: string;
  /** Whether products have the sub page of attributes. */
  readonly showAttributes: boolean;
}
