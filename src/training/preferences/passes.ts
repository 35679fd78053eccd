/**
 * @file Passes over items that must stay together: all rows of a pair are in one pass, because its loss is no sum over
 * rows. As many items as fit share one; what they begin with in common is computed once.
 */
import { OptionError } from "../../assembly/index.ts";
import { byTokenBudget, type Model } from "../../models/index.ts";
import { joinedRows, type TokenRow, type TokenRows } from "../workers/tokens.ts";
import { passTokens } from "../workers/pass-tokens.ts";

export interface ItemPass<Item> {
  readonly items: readonly Item[];
  /** Of all items, one item's behind the other's. */
  readonly rows: TokenRows;
}

export interface PassChoices {
  /** Tokens of one pass. Default: by memory. */
  readonly tokensPerPass?: number | undefined;
  /** Keeps only what is between layers, and computes the rest again in the backward pass. */
  readonly checkpointing?: boolean | undefined;
}

export function itemPasses<Item>(
  items: readonly Item[],
  rowsOf: (item: Item) => readonly TokenRow[],
  model: Pick<Model, "config">,
  { tokensPerPass, checkpointing = false }: PassChoices,
): ItemPass<Item>[] {
  const rows = items.map(rowsOf);
  const lengths = rows.map((own) => own.reduce((sum, { ids }) => sum + ids.length, 0));
  const budget = tokensPerPass ?? passTokens(model.config, checkpointing);
  return byTokenBudget(lengths, budget).map((members) => ({
    items: members.map((i) => items[i]!),
    rows: joinedRows(members.flatMap((i) => rows[i]!)),
  }));
}

/** Throws where a sequence does not fit into the model. */
export function requireLength(
  name: string,
  rows: Iterable<Pick<TokenRow, "ids">>,
  model: Model,
): void {
  const { maximumPositions } = model.config;
  for (const { ids } of rows)
    if (ids.length > maximumPositions)
      throw new OptionError(
        `${name}: a sequence has ${ids.length} tokens, the model takes ${maximumPositions}`,
      );
}
