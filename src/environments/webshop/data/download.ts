/**
 * @file Fetches the original's files, which its authors keep on Google Drive.
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Dataset, GetOptions } from "../../data/datasets.ts";
import { DownloadError, download } from "../../data/download.ts";
import { rememberSums, requireKnownSum } from "../../data/sums.ts";
import { EnvironmentError } from "../../environment.ts";
import { DEFAULT_DATA_FOLDER } from "../index.ts";

/** A file's name and its id on Google Drive, as in the original's set-up. */
type File = readonly [name: string, id: string];

const HUMAN: File = ["items_human_ins.json", "14Kb5SPBk_jfdLZ_CDBNitW98QLDlKR5O"];
const THOUSAND: readonly File[] = [
  ["items_shuffle_1000.json", "1EgHdxQ_YxqIQlvvq5iKlCrkEKR6-j0Ib"],
  ["items_ins_v2_1000.json", "1IduG0xl544V_A_jv3tHXC0kyFi7PnyBu"],
  HUMAN,
];
const ALL: readonly File[] = [
  ["items_shuffle.json", "1A2whVgOO0euk5O13n2iYDM0bQRkkRduB"],
  ["items_ins_v2.json", "1s2j6NgHljiZzQNL3veZaAiyW_qDEgBNi"],
  HUMAN,
];

/** `{id}` and `{name}` are filled in; an address without either is that of a folder with the files. */
const ADDRESS = "https://drive.usercontent.google.com/download?export=download&confirm=t&id={id}";
/** All products are some 5 GB. */
const LARGEST_DOWNLOAD = 40e9;

export const webshopData = dataset(
  "WebShop's first thousand products and people's goals",
  THOUSAND,
  true,
);
export const webshopAllData = dataset("WebShop's 1.18 million products (5 GB)", ALL, false);

function dataset(summary: string, files: readonly File[], small: boolean): Dataset {
  return {
    summary,
    url: ADDRESS,
    folder: DEFAULT_DATA_FOLDER,
    async get(options) {
      try {
        return await get(options, files, small);
      } catch (error) {
        if (!(error instanceof DownloadError)) throw error;
        throw new EnvironmentError("webshop", error.message, { cause: error });
      }
    },
  };
}

async function get(options: GetOptions, files: readonly File[], small: boolean): Promise<string> {
  const { url, folder, onProgress } = options;
  const missing = files.filter(([name]) => !existsSync(join(folder, name)));
  const work = join(folder, ".download");
  const records: Record<string, { url: string; bytes: number; sha256: string }> = {};
  for (const file of missing) {
    const [name] = file;
    const address = addressOf(url, file);
    const part = join(work, name);
    const found = await download({
      url: address,
      file: part,
      largest: LARGEST_DOWNLOAD,
      onProgress: (received, total) => onProgress?.(`downloading ${name}`, received, total),
    });
    requireJson(part, file, folder);
    requireKnownSum({ name, url: address, file: part, sha256: found.sha256 }, options);
    renameSync(part, join(folder, name));
    records[name] = { url: address, ...found };
  }
  rmSync(work, { recursive: true, force: true });
  const source = await verified(folder, small).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message.replace(/^webshop: /, "") : String(error);
    const advice = "Remove the file and run the command again to fetch it anew.";
    throw new EnvironmentError("webshop", `${reason} ${advice}`, { cause: error });
  });
  if (missing.length === 0) return `${folder} already has them: ${source}.`;
  mkdirSync(folder, { recursive: true });
  const sums = Object.entries(records).map(([name, { sha256 }]) => ({ name, sha256 }));
  rememberSums(sums, options);
  writeFileSync(join(folder, "download.json"), `${JSON.stringify(records, null, 2)}\n`);
  return `${source}.`;
}

function addressOf(url: string, [name, id]: File): string {
  if (!/\{id\}|\{name\}/.test(url)) return `${url.replace(/\/+$/, "")}/${name}`;
  return url.replaceAll("{id}", id).replaceAll("{name}", name);
}

/** Google answers with a page in place of a file that was asked for too often. */
function requireJson(path: string, [name, id]: File, folder: string): void {
  const start = Buffer.alloc(64);
  const file = openSync(path, "r");
  try {
    const length = readSync(file, start, 0, start.length, 0);
    if (/^\s*[[{]/.test(start.toString("latin1", 0, length))) return;
  } finally {
    closeSync(file);
  }
  rmSync(path);
  throw new EnvironmentError(
    "webshop",
    `what came for ${name} is no JSON but probably a page that says why not. Open ` +
      `https://drive.google.com/file/d/${id} in a browser, save the file as ${join(folder, name)} and run the command again.`,
  );
}

/** The files must make a shop. People's goals are only read: few of them are about the first products. */
async function verified(folder: string, small: boolean): Promise<string> {
  const { fileShop } = await import("./file-shop.ts");
  const { readHumanInstructions } = await import("./folder.ts");
  readHumanInstructions(join(folder, HUMAN[0]));
  const wishes = { products: small ? undefined : 1000, valid: 0, seed: 0, cache: "off" };
  const shop = fileShop(folder, { ...wishes, human: false, small });
  shop.close?.();
  return small ? shop.source : `all products are in ${folder}; of the first, ${shop.source}`;
}
