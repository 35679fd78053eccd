/**
 * @file What is wrong with an archive. Whoever knows which file it was adds its name.
 */

export class ArchiveError extends Error {
  override name = "ArchiveError";
}
