/**
 * @file The error for model files that cannot be used: it names the file and the reason.
 */

export class ModelFileError extends Error {
  override name = "ModelFileError";
  /** The file or folder that is wrong. */
  readonly file: string;
  /** What is wrong with it, without the file's name. */
  readonly reason: string;

  constructor(file: string, reason: string, options?: ErrorOptions) {
    super(`${file}: ${reason}`, options);
    this.file = file;
    this.reason = reason;
  }
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
