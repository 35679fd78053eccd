/**
 * @file A page as HTML. The elements, ids and classes by which programs find their way in the original's
 * pages are there (`search_input`, `instruction-text`, `btn`, `product-link`, radio buttons with name and
 * value); the rest of the markup is our own.
 */
import { type DonePage, type Page, shownHits } from "../page.ts";
import type { Product } from "../product.ts";
import type { View } from "../view.ts";
import { addressOf } from "./address.ts";
import { BACK_TO_SEARCH, BUY_NOW, NEXT_PAGE, PREVIOUS_PAGE, piecesOf } from "./content.ts";

export function htmlOf(page: Page, view: View): string {
  const lines = [
    ...["<!DOCTYPE html>", "<html>", "<head><title>WebShop</title></head>", "<body>"],
    ...body(page, view),
    ...["</body>", "</html>"],
  ];
  return `${lines.join("\n")}\n`;
}

function body(page: Page, view: View): string[] {
  const heading = element("h4", `Instruction:<br>${escaped(view.instruction)}`);
  const instruction = `<div id="instruction-text">${heading}</div>`;
  switch (page.kind) {
    case "index":
      return [
        element("h2", "WebShop"),
        instruction.replace("Instruction:", "Instruction: "),
        `<form method="post" action="${escaped(addressOf(page, view))}">`,
        '<input id="search_input" type="text" name="search_query" placeholder="Search...">',
        button("Search"),
        "</form>",
      ];
    case "results":
      return [
        instruction,
        button(BACK_TO_SEARCH),
        element("h3", `Page ${page.number} (Total results: ${page.hits.length})`),
        ...(page.number > 1 ? [button(PREVIOUS_PAGE)] : []),
        button(NEXT_PAGE),
        ...shownHits(page).flatMap((hit) => resultLines(hit, page, view)),
      ];
    case "item":
      return [
        instruction,
        button(BACK_TO_SEARCH),
        button(PREVIOUS_PAGE),
        ...itemLines(view.catalogue.product(page.product), view.showAttributes),
      ];
    case "sub": {
      // After the heading, the instruction and two buttons.
      const pieces = piecesOf(page, view).slice(view.instruction === "" ? 3 : 4);
      const content = pieces.map(({ text }) => `<p class="product-info">${escaped(text)}</p>`);
      return [instruction, button(BACK_TO_SEARCH), button(PREVIOUS_PAGE), ...content];
    }
    case "done":
      return doneLines(page, view);
  }
}

function resultLines(hit: number, page: Page & { kind: "results" }, view: View): string[] {
  const { asin, title, priceTag, image } = view.catalogue.product(hit);
  const item = { ...page, kind: "item", product: hit, chosen: [] } as const;
  const link = `<a class="product-link" href="${escaped(addressOf(item, view))}">${escaped(asin)}</a>`;
  return [
    '<div class="grid-item">',
    `<img src="${escaped(image)}">`,
    `<h4 class="product-asin">${link}</h4>`,
    `<h4 class="product-title">${escaped(title)}</h4>`,
    `<h5 class="product-price">${escaped(priceTag)}</h5>`,
    "</div>",
  ];
}

function itemLines(product: Product, showAttributes: boolean): string[] {
  const subPages = [
    "Description",
    "Features",
    "Reviews",
    ...(showAttributes ? ["Attributes"] : []),
  ];
  return [
    `<img id="product-image" src="${escaped(product.image)}">`,
    ...product.options.flatMap(({ name, values }) => [
      element("h4", escaped(name)),
      ...values.map((value, number) => {
        const [id, shown] = [escaped(`radio_${name}${number}`), escaped(value)];
        const radio = `<input type="radio" id="${id}" name="${escaped(name)}" value="${shown}">`;
        return `${radio}<label for="${id}">${shown}</label>`;
      }),
    ]),
    element("h2", escaped(product.title)),
    element("h4", escaped(`Price: ${product.priceTag}`)),
    element("h4", "Rating: N.A."),
    ...subPages.map(button),
    button(BUY_NOW),
  ];
}

function doneLines(page: DonePage, view: View): string[] {
  return piecesOf(page, view).map(({ text }) => element("p", escaped(text)));
}

function button(text: string): string {
  return `<button type="submit" class="btn">${escaped(text)}</button>`;
}

function element(name: string, content: string): string {
  return `<${name}>${content}</${name}>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  ...{ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;" },
};

/** As Jinja escapes. */
function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}
