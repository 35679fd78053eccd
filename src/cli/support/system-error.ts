/**
 * @file What the system says about files, as a sentence: a full disk, a folder that is a file, a place that
 * one may not write to. Nobody's program is wrong then, and a stack would help nobody.
 */

/** What is wrong, and what to do. */
const MEANINGS: Readonly<Record<string, readonly [wrong: string, advice: string]>> = {
  EACCES: ["it may not be read, or not be written", "check who owns it and its permissions"],
  EBUSY: ["something else is using it", "wait until that has ended"],
  EDQUOT: ["your share of the disk is used up", "free some space"],
  EEXIST: ["there is something of that name already", "choose another place, or remove it"],
  EFBIG: ["the file becomes larger than the disk allows", "choose another disk"],
  EIO: ["the disk, or the terminal, failed", "check the machine's log"],
  EISDIR: ["it is a folder, and a file is expected", "give a file"],
  ELOOP: ["its links lead in a circle", "check where they lead"],
  EMFILE: ["too many files are open", "raise the limit (ulimit -n)"],
  ENAMETOOLONG: ["its name is too long", "choose a shorter one"],
  ENOENT: ["there is no such file or folder", "check the path"],
  ENOSPC: ["there is no space left on the disk", "free some, and run the command again"],
  ENOTDIR: ["a part of the path is a file, and a folder is expected", "check the path"],
  ENOTEMPTY: ["the folder is not empty", "choose another, or empty it"],
  EPERM: ["it is not allowed", "check who owns it and its permissions"],
  EROFS: ["the disk can only be read", "choose another place"],
  ETXTBSY: ["the file is being run", "wait until that has ended"],
};

/** Undefined for what is no error of the system's. */
export function systemSentence(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, syscall, path, dest } = error as NodeJS.ErrnoException & { dest?: string };
  const meaning = code !== undefined && Object.hasOwn(MEANINGS, code) ? MEANINGS[code] : undefined;
  if (!meaning || syscall === undefined) return undefined;
  const place = dest ?? path;
  const [wrong, advice] = meaning;
  return `${place === undefined ? "a file" : place}: ${wrong} (${code}, ${syscall}); ${advice}.`;
}
