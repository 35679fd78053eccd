/**
 * @file A place where a published model can be had. Several places have the same model in several forms; they
 * are asked one after the other.
 */

export interface SourceOptions {
  /** What is being done, and how far it is; no total where nobody knows it. */
  onProgress?(doing: string, done?: number, total?: number): void;
  readonly signal?: AbortSignal;
}

export interface ModelSource {
  /** For messages: "the Python package index". */
  readonly name: string;
  /**
   * Makes the whole model folder, or nothing. Gives undefined if it is there now, or the reason why this place
   * does not have it, or cannot be reached: then the next one is asked.
   */
  fetch(folder: string, options: SourceOptions): Promise<string | undefined>;
}
