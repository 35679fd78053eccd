/**
 * @file TextCraft against the published games: texts, recipes, outcomes.
 */
import { beforeAll, describe, expect, it } from "vitest";
import type { RecipeBook } from "../../../src/environments/textcraft/book.ts";
import { openRecipes } from "../../../src/environments/textcraft/library.ts";
import { commandOf, idOf } from "../../../src/environments/textcraft/recipe.ts";
import { act, type Inventory } from "../../../src/environments/textcraft/rules.ts";
import { treeOf } from "../../../src/environments/textcraft/task-text.ts";
import { isMissing, sharedFile } from "../../support/shared.ts";
import { type Transcript, transcripts } from "../transcripts.ts";

const RECIPES = "data/textcraft/recipes.tar.xz";
const skip = isMissing(RECIPES, "data/openmanus/textcraft/train.parquet");

let book: RecipeBook;
let published: Transcript[];
beforeAll(async () => {
  if (skip) return;
  book = await openRecipes(sharedFile(RECIPES));
  published = await transcripts("textcraft", ["train", "val"]);
});

/** What the original's client makes of a reply: one line, and only plain characters. */
function actionOf(reply: string): string {
  const lines = [...reply.matchAll(/Action:\s*([^\n]*)/g)].map((match) => match[1]!);
  return (lines[0] ?? reply)
    .replace(/[^A-Za-z0-9, ]/g, "")
    .replace(/ +/g, " ")
    .trim();
}

const said = (text: string): string => text.replace(/^Instruction:\n/, "").trim();
const goalOf = ({ turns }: Transcript): string =>
  idOf(/^Goal: craft (.*)\.$/m.exec(turns[0]!.said)![1]!);

/** The first difference, or undefined. */
function difference(transcript: Transcript): string | undefined {
  const { turns } = transcript;
  const goal = goalOf(transcript);
  let inventory: Inventory = [];
  for (const [number, { reply }] of turns.entries()) {
    const action = actionOf(reply);
    const outcome = act(book, inventory, action);
    inventory = outcome.inventory;
    const next = turns[number + 1];
    const won = outcome.item === goal;
    if (!next) return won ? undefined : `not won by "${action}", but "${outcome.text}"`;
    if (won) return `won early, by "${action}"`;
    if (outcome.text.trim() !== said(next.said))
      return `"${action}" was answered "${said(next.said)}", here "${outcome.text}"`;
  }
  return undefined;
}

describe.skipIf(skip)("the published recipes and games", () => {
  it("give the original's items, tags and depths", () => {
    expect([book.craftable.length, book.items.size]).toEqual([544, 676]);
    const histogram = [1, 2, 3, 4, 5].map(
      (depth) => book.craftable.filter((id) => book.depth(id) === depth).length,
    );
    expect(histogram).toEqual([140, 280, 113, 11, 0]);
  });

  it("replay, all but a few, word for word", () => {
    expect(published.length).toBe(394);
    const differences = published.flatMap((transcript) => {
      const found = difference(transcript);
      return found === undefined ? [] : [`${transcript.id}: ${found}`];
    });
    // The other two are what the original's client made of replies with two actions in them.
    expect(differences.map((text) => text.split(":")[0])).toEqual([
      "textcraft_210",
      "textcraft_306",
    ]);
  });

  it("list the recipes that we list, and at most ten more", () => {
    const all = new Set([...book.recipes.values()].flat().map(commandOf));
    let equal = 0;
    for (const transcript of published) {
      const listed = new Set(transcript.turns[0]!.said.match(/^craft .*$/gm)!);
      const needed = new Set([...treeOf(book, goalOf(transcript))].map(commandOf));
      const missing = [...needed].filter((command) => !listed.has(command));
      const strange = [...listed].filter((command) => !all.has(command));
      if (missing.length + strange.length === 0 && listed.size - needed.size <= 10) equal++;
    }
    expect(equal).toBe(394);
  });
});
