/**
 * @file The data that `data get NAME` can fetch. A world with data of its own adds a line.
 */
import { alfworldData } from "../alfworld/files/download.ts";
import { webshopAllData, webshopData } from "../webshop/data/download.ts";
import type { SumOptions } from "./sums.ts";

export interface Dataset {
  /** One sentence for `data list`. */
  readonly summary: string;
  readonly url: string;
  /** Where it goes unless told otherwise. */
  readonly folder: string;
  /** Fetches, verifies and unpacks. Returns a sentence about what is there now. */
  get(options: GetOptions): Promise<string>;
}

export interface GetOptions extends SumOptions {
  readonly url: string;
  /** What is being done, and how far it is. */
  onProgress?(doing: string, done: number, total: number | undefined): void;
}

export const DATASETS: Readonly<Record<string, Dataset>> = {
  alfworld: alfworldData,
  webshop: webshopData,
  "webshop-all": webshopAllData,
};
