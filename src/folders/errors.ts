/**
 * @file The error for folders that cannot be used: somebody else's, or somebody else is at work in them; and for files that
 * cannot be written, with their name, the reason and what to do.
 */

export class FolderError extends Error {
  override name = "FolderError";
}

/** Another process works in the folder, and will be done one day: whoever can wait may ask again. */
export class FolderBusyError extends FolderError {}

/** What the system refuses (no room, no permission) as a sentence with the folder's name. */
export function written<Value>(folder: string, write: () => Value): Value {
  try {
    return naming(folder, write);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const told = diskSentence(error);
    if (told !== error || code === undefined) throw told;
    throw new FolderError(`${folder}: cannot be written to (${message}). Choose another folder.`, {
      cause: error,
    });
  }
}

/**
 * What a write to an open file is refused with has no name of the file: it gets it here. Nor is the name that it has until it
 * is whole (`temporary`) what anybody asked for.
 */
export function naming<Value>(file: string, write: () => Value, temporary?: string): Value {
  try {
    return write();
  } catch (error) {
    const refused = error as NodeJS.ErrnoException;
    if (!(refused instanceof Error) || refused.code === undefined) throw error;
    if (refused.path === undefined) refused.message += ` '${file}'`;
    else if (refused.path === temporary) refused.message = refused.message.replace(temporary, file);
    else throw error;
    refused.path = file;
    throw error;
  }
}

/** What is wrong with the disk, and what to do about it, by the system's code. */
const REFUSALS: Readonly<Record<string, readonly [wrong: string, advice: string]>> = {
  EDQUOT: ["your share of the disk is used up", "Free some of it"],
  EFBIG: ["it becomes larger than the disk, or a limit (ulimit -f), allows", "Raise the limit"],
  EIO: ["the disk failed", "See the machine's log for why"],
  ENOSPC: ["there is no space left on the disk", "Free some"],
  EROFS: [
    "its disk can only be read",
    "See the machine's log for why, and make it one that can be written to",
  ],
};

/** The sentence for a disk that takes nothing more, and what to do `then`; any other error as it is. */
export function diskSentence(
  error: unknown,
  then = "the same command goes on from there",
): unknown {
  if (!(error instanceof Error)) return error;
  const { code, path } = error as NodeJS.ErrnoException;
  if (code === undefined || path === undefined || !Object.hasOwn(REFUSALS, code)) return error;
  const [wrong, advice] = REFUSALS[code]!;
  return new FolderError(
    `${path}: cannot be written, because ${wrong} (${code}). What was written before is whole. ${advice}; then ` +
      `${then}.`,
    { cause: error },
  );
}
