/**
 * @file The text of an HTML page: what a reader sees, block by block. One pass over the characters, so
 * that no page, however broken, takes long.
 */

/** Elements whose contents nobody reads. */
const HIDDEN = new Set(["script", "style", "noscript", "template", "svg", "head", "iframe"]);
/** Elements that begin a new line. */
const BLOCKS = new Set(
  "address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tr ul title".split(
    " ",
  ),
);
const CELLS = new Set(["td", "th"]);

/** Only at the place where it is asked for. */
const TAG = /<(\/?)([a-z][a-z0-9]{0,30})/iy;

export function pageText(html: string): string {
  const title = /<title[^<>]*>([^<]*)/i.exec(html.slice(0, 50_000))?.[1]?.trim();
  const parts: string[] = title ? [entities(title), "\n"] : [];
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    const end = open < 0 ? html.length : open;
    if (end > at) parts.push(entities(html.slice(at, end).replace(/\s+/g, " ")));
    if (open < 0) break;
    if (html.startsWith("<!--", open)) {
      at = after(html, "-->", open + 4);
      continue;
    }
    TAG.lastIndex = open;
    const match = TAG.exec(html);
    if (match === null) {
      // A "<" that opens nothing is a character, unless it is a declaration.
      const isDeclaration = "!?/".includes(html[open + 1] ?? " ");
      if (!isDeclaration) parts.push("<");
      at = isDeclaration ? after(html, ">", open) : open + 1;
      continue;
    }
    const [, slash, name] = match as unknown as [string, string, string];
    const tag = name.toLowerCase();
    at = after(html, ">", open);
    if (BLOCKS.has(tag)) parts.push("\n");
    else if (CELLS.has(tag)) parts.push(" ");
    if (slash === "" && HIDDEN.has(tag)) at = afterClosing(html, tag, at);
  }
  return parts
    .join("")
    .split("\n")
    .map((line) => line.replace(/[ \t]+/g, " ").trim())
    .filter((line) => line !== "")
    .join("\n");
}

function after(html: string, mark: string, from: number): number {
  const found = html.indexOf(mark, from);
  return found < 0 ? html.length : found + mark.length;
}

function afterClosing(html: string, tag: string, from: number): number {
  const pattern = new RegExp(`</${tag}`, "gi");
  pattern.lastIndex = from;
  return pattern.exec(html) ? after(html, ">", pattern.lastIndex) : html.length;
}

const NAMED: Readonly<Record<string, string>> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " ", ndash: "–", mdash: "—" },
  ...{ hellip: "…", rsquo: "’", lsquo: "‘", ldquo: "“", rdquo: "”", copy: "©", deg: "°" },
};

function entities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/gi,
    (whole, decimal, hex, name) => {
      if (name !== undefined) return NAMED[String(name).toLowerCase()] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    },
  );
}
