/**
 * @file `openmanus-rl model import|export`: GGUF files in and out.
 */
import { policyIn } from "../../../library/index.ts";
import { describeModel, EXPORT_TYPES, exportGguf, importGguf } from "../../../models/index.ts";
import { oneOf, optionsAndWords, UsageError } from "../../arguments/usage.ts";
import { progressLine } from "../../arguments/world.ts";
import { modelReport, size } from "./report.ts";
import { print } from "../print.ts";

export function importModel(given: readonly string[]): number {
  const { values, words } = optionsAndWords(given, {
    dtype: { type: "string", default: "float32" },
  });
  const [file, folder, ...more] = words;
  if (file === undefined || folder === undefined || more.length > 0)
    throw new UsageError(
      "import takes a file and the new folder: openmanus-rl model import FILE.gguf FOLDER.",
    );
  const dtype = oneOf(values.dtype, ["float32", "bfloat16"] as const, "dtype");
  const progress = progressLine();
  try {
    importGguf(file, folder, {
      dtype,
      onProgress: (done, total) => progress.show(part("importing", done, total)),
    });
  } finally {
    progress.clear();
  }
  print(modelReport(describeModel(folder)));
  return 0;
}

export function exportModel(given: readonly string[]): number {
  const { values, words } = optionsAndWords(given, { type: { type: "string" } });
  const [path, file, ...more] = words;
  if (path === undefined || file === undefined || more.length > 0)
    throw new UsageError(
      "export takes a folder and the new file: openmanus-rl model export FOLDER FILE.gguf.",
    );
  const type = values.type === undefined ? undefined : oneOf(values.type, EXPORT_TYPES, "type");
  const folder = policyIn(path);
  const progress = progressLine();
  try {
    const { remarks, bytes, ...made } = exportGguf(folder, file, {
      ...(type && { type }),
      onProgress: (done, total) => progress.show(part("exporting", done, total)),
    });
    progress.clear();
    print(`${file}: ${size(bytes)} of ${made.type}, from ${folder}`);
    for (const remark of remarks) print(`! ${remark}`);
  } finally {
    progress.clear();
  }
  return 0;
}

export function part(doing: string, done: number, total = done): string {
  return `${doing}: ${((100 * done) / Math.max(1, total)).toFixed(0)} %`;
}
