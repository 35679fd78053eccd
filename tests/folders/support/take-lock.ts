/**
 * @file A process that wants a folder: take-lock.ts FOLDER TIME [hold]. Says "mine", or why not; with "hold" it
 * keeps it until it is killed.
 */
import { takeLock } from "../../../src/folders/index.ts";

const [folder, at, hold] = process.argv.slice(2);
const wait = Math.max(0, Number(at) - Date.now());
setTimeout(() => {
  try {
    takeLock(folder!);
    console.log("mine");
    // Nobody else may find this one dead while they look.
    setTimeout(() => {}, hold ? 2 ** 30 : 3000);
  } catch (error) {
    console.log((error as Error).message);
  }
}, wait);
