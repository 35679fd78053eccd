/**
 * @file Builds the dashboard's page into web/dist: three files that load nothing from elsewhere.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const WEB = dirname(fileURLToPath(import.meta.url));
const { outputFiles } = await build({
  entryPoints: [join(WEB, "page/main.tsx")],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  // Licences of what is bundled stay in it.
  legalComments: "inline",
  outfile: join(WEB, "dist/page.js"),
  write: false,
  logLimit: 5,
});
const files = Object.fromEntries(
  outputFiles.map(({ path, text }) => [path.endsWith(".css") ? "page.css" : "page.js", text]),
);
const licence = (name: string) => {
  const entry = createRequire(import.meta.url).resolve(name);
  const folder = entry.slice(0, entry.lastIndexOf(`/${name}/`) + name.length + 1);
  return readFileSync(join(folder, "LICENSE"), "utf8").replaceAll("*/", "");
};
const licences = ["preact", "uplot"].map((name) => `/*! ${name}\n${licence(name)}*/\n`).join("");
mkdirSync(join(WEB, "dist"), { recursive: true });
// page.js last: its age says when all of it was built.
for (const [name, content] of [
  ["index.html", readFileSync(join(WEB, "page/index.html"), "utf8")],
  ["page.css", files["page.css"]!],
  ["page.js", licences + files["page.js"]!],
] as const) {
  const target = join(WEB, "dist", name);
  writeFileSync(`${target}.${process.pid}`, content);
  renameSync(`${target}.${process.pid}`, target);
}
