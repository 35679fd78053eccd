/**
 * @file `npm run docs:api`: the reference of everything that the package exports, made from its types, as a
 * web site in docs/api. Exit code 1 where a link leads nowhere, or where something exported needs a type that
 * is not. `-- --check` writes nothing.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Application, Comment, LogLevel, OptionDefaults, ReflectionKind } from "typedoc";
import { NOT_EXPORTED } from "./not-exported.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** What users can import: its name, and where it is in the source. */
function entryPoints(): Map<string, string> {
  const { exports } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as {
    exports: Record<string, { types?: string } | string>;
  };
  const found = new Map<string, string>();
  for (const [name, entry] of Object.entries(exports))
    if (typeof entry === "object" && entry.types?.startsWith("./dist/"))
      found.set(
        name.replace(/^\.\/?/, "openmanus-rl/").replace(/\/$/, ""),
        ROOT + entry.types.replace("./dist/", "src/").replace(/\.d\.ts$/, ".ts"),
      );
  return found;
}

/** What a file's first comment says of it. */
function fileComment(file: string): string {
  const [, text = ""] =
    /^\/\*\*\s*\n \* @file ([\s\S]*?)\n \*\//.exec(readFileSync(file, "utf8")) ?? [];
  return text.replace(/^ \* ?/gm, "");
}

const entries = entryPoints();
const application = await Application.bootstrapWithPlugins({
  entryPoints: [...entries.values()],
  tsconfig: `${ROOT}tsconfig.build.json`,
  out: `${ROOT}docs/api`,
  name: "openmanus-rl",
  readme: "none",
  // `npm run types` checks the types, with our own TypeScript.
  skipErrorChecking: true,
  disableSources: true,
  blockTags: [...OptionDefaults.blockTags, "@file"],
  excludeTags: [...OptionDefaults.excludeTags, "@file"],
  logLevel: LogLevel.Warn,
  validation: { invalidLink: true, notExported: true, notDocumented: false },
  intentionallyNotExported: NOT_EXPORTED,
});

const project = await application.convert();
if (project) {
  for (const module of project.getChildrenByKind(ReflectionKind.Module)) {
    const [name, file] =
      [...entries].find(([, path]) => path.endsWith(`src/${module.name}/index.ts`)) ?? [];
    if (!name || !file) continue;
    module.name = name;
    module.comment = new Comment([{ kind: "text", text: fileComment(file) }]);
  }
  application.validate(project);
}
const { errorCount, warningCount } = application.logger;
const problems = errorCount + warningCount;
const isCheck = process.argv.includes("--check");
if (project && problems === 0 && !isCheck) await application.generateOutputs(project);
const count = Object.keys(project?.reflections ?? {}).length;
const outcome = isCheck ? "in order" : "in docs/api";
console.log(
  problems > 0 ? `docs:api: ${problems} problems` : `docs:api: ${count} entries, ${outcome}`,
);
process.exitCode = problems > 0 || !project ? 1 : 0;
