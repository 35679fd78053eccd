/**
 * @file The error for folders that cannot be used: somebody else's, or somebody else is at work in them.
 */

export class FolderError extends Error {
  override name = "FolderError";
}

/** Another process works in the folder, and will be done one day: whoever can wait may ask again. */
export class FolderBusyError extends FolderError {}

/** What the system refuses (no room, no permission) as a sentence with the folder's name. */
export function written<Value>(folder: string, write: () => Value): Value {
  try {
    return write();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new FolderError(`${folder}: cannot be written to (${message}). Choose another folder.`, {
      cause: error,
    });
  }
}
