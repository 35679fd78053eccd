/**
 * @file The published games of ALFWorld: those of $ALFWORLD_DATA, or of the archive in ../shared.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { tarFiles } from "../../src/environments/archive/tar.ts";
import { decompressXz } from "../../src/environments/archive/xz.ts";

const SHARED = fileURLToPath(
  new URL("../../../shared/data/alfworld/json_2.1.1.tar.xz", import.meta.url),
);

/** A folder with games; those of an archive are unpacked, valid_seen only. */
export async function realGames(temporary: string): Promise<string | undefined> {
  const own = process.env.ALFWORLD_DATA;
  if (own !== undefined && existsSync(own)) return own;
  if (!existsSync(SHARED)) return undefined;
  const wanted = (path: string): boolean => path.includes("/valid_seen/");
  const bytes = decompressXz(readFileSync(SHARED));
  for await (const file of tarFiles(bytes, wanted, 1e7)) {
    const path = join(temporary, file.path);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, file.bytes);
  }
  return temporary;
}
