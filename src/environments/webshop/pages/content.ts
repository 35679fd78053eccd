/**
 * @file What stands on a page: its pieces of text in order. All modes of observation are made of it.
 *
 * An empty text makes no piece, as an empty element of the original's pages has no text; texts with
 * spaces around them are those of its templates.
 */

import { floatText, pageJsonDictionary, strip } from "../../python-text.ts";
import { type DonePage, type ItemPage, type ItemSubPage, type Page, shownHits } from "../page.ts";
import type { View } from "../view.ts";

export interface Piece {
  readonly kind: "text" | "button" | "option" | "link";
  readonly text: string;
}

export const BACK_TO_SEARCH = "Back to Search";
export const NEXT_PAGE = "Next >";
export const PREVIOUS_PAGE = "< Prev";
export const BUY_NOW = "Buy Now";

const text = (content: string): Piece => ({ kind: "text", text: content });
const button = (content: string): Piece => ({ kind: "button", text: content });

const HEADING = text("Instruction:");
const BACK = button(BACK_TO_SEARCH);
const NEXT = button(NEXT_PAGE);
const PREVIOUS = button(PREVIOUS_PAGE);
const BUY = button(BUY_NOW);

export function piecesOf(page: Page, view: View): Piece[] {
  return allPieces(page, view).filter((piece) => piece.text !== "");
}

function allPieces(page: Page, view: View): Piece[] {
  const { instruction, catalogue } = view;
  switch (page.kind) {
    case "index":
      return [text("WebShop"), text("Instruction: "), text(instruction), button("Search")];
    case "results": {
      const total = `Page ${page.number} (Total results: ${page.hits.length})`;
      const pieces = [HEADING, text(instruction), BACK, text(total)];
      if (page.number > 1) pieces.push(PREVIOUS);
      pieces.push(NEXT);
      for (const hit of shownHits(page)) {
        const { asin, title, priceTag } = catalogue.product(hit);
        pieces.push({ kind: "link", text: asin }, text(title), text(priceTag));
      }
      return pieces;
    }
    case "item":
      return itemPieces(page, view);
    case "sub":
      return [HEADING, text(instruction), BACK, PREVIOUS, ...subPieces(page, view)];
    case "done":
      return donePieces(page, view);
  }
}

function itemPieces(page: ItemPage, { instruction, catalogue, showAttributes }: View): Piece[] {
  const { options, title, priceTag } = catalogue.product(page.product);
  const pieces = [HEADING, text(instruction), BACK, PREVIOUS];
  for (const { name, values } of options) {
    pieces.push(text(name));
    for (const value of values) pieces.push({ kind: "option", text: value });
  }
  pieces.push(text(title), text(`Price: ${priceTag}`), text("Rating: N.A."));
  pieces.push(button("Description"), button("Features"), button("Reviews"));
  if (showAttributes) pieces.push(button("Attributes"));
  pieces.push(BUY);
  return pieces;
}

function subPieces({ name, product }: ItemSubPage, { catalogue }: View): Piece[] {
  const { description, bullets, attributes, category, query, productCategory } =
    catalogue.product(product);
  switch (name) {
    case "Description":
      return [text(strip(description))];
    case "Features":
      return bullets.map((bullet) => text(` ${bullet}`));
    case "Reviews":
      return [];
    case "Attributes":
      return [
        ...attributes.map((attribute) => text(` ${attribute}`)),
        ...[category, query, productCategory].map(text),
      ];
  }
}

/** The original fills in little of its last page; "None" and "instuction" are its own. */
function donePieces({ product, chosen, score }: DonePage, { catalogue }: View): Piece[] {
  const { asin } = catalogue.product(product);
  return [
    ...["Thank you for shopping with us!", "Your code: ", "None"],
    ...[" (Paste it in your MTurk interface.)", "Purchased", "asin", asin],
    ...["options", pageJsonDictionary(chosen), "attrs", "None", "category", "None"],
    ...["query", "None", "product category", "None", "Target", "asin", "options", "attrs"],
    ...["price upper", "instuction text", "category", "product category", "query"],
    ...["Goal ", "None", "Reward", "Your score (min 0.0, max 1.0)", floatText(score)],
    ...["Reward Details ", "None"],
  ].map(text);
}
