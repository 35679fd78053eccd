/**
 * @file A page as the agent sees it, in each mode of observation.
 */

import { strip } from "../../python-text.ts";
import type { Page } from "../page.ts";
import type { View } from "../view.ts";
import { addressOf } from "./address.ts";
import { piecesOf } from "./content.ts";
import { htmlOf } from "./html.ts";
import type { Mode } from "./mode.ts";

export const SEPARATOR = " [SEP] ";

export function rendered(page: Page, view: View, mode: Mode): string {
  switch (mode) {
    case "text":
      return plainText(page, view);
    case "text_rich":
      return richText(page, view);
    case "html":
      return htmlOf(page, view);
    case "url":
      return addressOf(page, view);
  }
}

export function plainText(page: Page, view: View): string {
  let text = "";
  for (const piece of piecesOf(page, view)) text += (text && SEPARATOR) + strip(piece.text);
  return text;
}

/** A line for each piece; buttons are marked, and what was clicked is said first. */
function richText(page: Page, view: View): string {
  const address = addressOf(page, view);
  const visited = page.kind === "results" ? page.visited : [];
  const asins = new Set(visited.map((product) => view.catalogue.product(product).asin));
  const marked = (text: string, clicked: boolean): string => {
    const mark = clicked ? "clicked button" : "button";
    return `[${mark}] ${text} [${mark}_]`;
  };
  let lines = "";
  for (const { kind, text } of piecesOf(page, view)) {
    if (kind === "button") lines += `${marked(text, false)}\n`;
    else if (kind === "link") lines += `\n${marked(text, asins.has(text))}\n`;
    else if (kind === "option") {
      const clicked = address.includes(`"${text}"`);
      lines = `${clicked ? `You have clicked ${text}.\n` : ""}${lines}  ${marked(text, clicked)}\n`;
    } else lines += `${text}\n`;
  }
  return lines;
}
