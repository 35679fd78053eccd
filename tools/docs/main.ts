/**
 * @file `npm run docs`: writes the pages that are made from the code.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { configurationReference } from "../../src/config/index.ts";

const page = fileURLToPath(new URL("../../docs/configuration.md", import.meta.url));
writeFileSync(page, configurationReference());
console.log("docs/configuration.md");
