/**
 * @file The door of the folders room: whose a folder is, that only one works in it, and files that are
 * complete or not there.
 */
export {
  copyDurably,
  removeIfPossible,
  syncFolder,
  temporaryName,
  writeBytes,
  writeDurably,
  writeJson,
  writeText,
} from "./durable.ts";
export { diskSentence, FolderBusyError, FolderError, naming } from "./errors.ts";
export { type HeldLock, isHeld, LOCK_FILE, takeLock } from "./lock.ts";
export { makeFolder } from "./make.ts";
export { type FolderKind, MARKER_FILE, type OwnedFolder, ownedFolder } from "./owned.ts";
