/**
 * @file `npm run docs`: writes the pages that are made from the code.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { configurationReference, verlReference } from "../../src/config/reference.ts";
import { VERL } from "./verl-keys.ts";

const pages = {
  "docs/configuration.md": configurationReference(),
  "docs/verl.md": verlReference(VERL),
};
for (const [name, text] of Object.entries(pages)) {
  writeFileSync(fileURLToPath(new URL(`../../${name}`, import.meta.url)), text);
  console.log(name);
}
