/**
 * @file Names of models on the Hub, as they stand in the place of a folder: `org/name`, or `org/name@revision`,
 * where a revision is a branch, a tag or a commit.
 */
import { existsSync } from "node:fs";

export interface HubName {
  /** `org/name`. */
  readonly name: string;
  /** Undefined: the Hub's own choice, its main branch. */
  readonly revision: string | undefined;
}

/** What no revision is given for. */
export const MAIN = "main";

const COMMIT = /^[0-9a-f]{40}$/;
const PART = /^\w(?:[\w.-]{0,94}\w)?$/;
const REVISION = /^\w[\w./+-]{0,199}$/;

export function isCommit(text: string): boolean {
  return COMMIT.test(text);
}

/** Undefined where it cannot be a name on the Hub, by the Hub's own rules. Both become parts of paths. */
export function hubNameIn(text: string): HubName | undefined {
  const [name = "", ...rest] = text.split("@");
  const revision = rest.length === 0 ? undefined : rest.join("@");
  const parts = name.split("/");
  if (parts.length !== 2 || !parts.every(isPart)) return undefined;
  if (revision !== undefined && !isRevision(revision)) return undefined;
  return { name, revision };
}

export function isRevision(text: string): boolean {
  return REVISION.test(text) && !/\.\.|\/\/|\/$|\/\.|\.lock$/.test(text);
}

function isPart(part: string): boolean {
  return PART.test(part) && !/--|\.\.|\.git$/.test(part);
}

/**
 * Whether a model's place means one on the Hub: it reads as a name, and there is no such folder here. Nor is
 * there one that it would be in: of `models/qwne` beside a folder `models`, the Hub is not asked.
 */
export function meansHub(place: string): boolean {
  const found = hubNameIn(place);
  return found !== undefined && !existsSync(place) && !existsSync(found.name.split("/")[0]!);
}

export function shownName({ name, revision }: HubName): string {
  return revision === undefined ? name : `${name}@${revision}`;
}
