/**
 * @file How many of a goal's options were chosen.
 */

import { reprText } from "../../python-text.ts";
import type { GoalOptions } from "../goal.ts";
import { isAlike } from "./token-set-ratio.ts";

/** The colours that the original knows. "dark" and "light" are among them; the order matters. */
const COLOURS: readonly string[] = (
  "alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown " +
  "burgundy camel camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac " +
  "copper coral cranberry cream crystal dark denim eggplant elephant espresso fuchsia gold granite " +
  "grape graphite grass gray green grey heather indigo ivory ivy khaki lavender lemon leopard light " +
  "lilac lime magenta maroon mauve merlot midnight mint mocha multicolor mushroom mustard natural " +
  "navy nude olive orange peach pewter pink plum purple rainbow red rose royal rust sand sapphire " +
  "seashell silver skull slate steel stone stonewash sunflower tan taupe teal tiger turquoise violet " +
  "walnut wheat white wine yellow"
).split(" ");

/** The first known colour that is anywhere in the text ("red" in "layered"), else the text. */
export function colourOf(text: string): string {
  return COLOURS.find((colour) => text.includes(colour)) ?? text;
}

/**
 * What the original compares a named option as. It takes the pair (name, value) for a text: a colour is
 * found in it only if it is the whole name or the whole value, and otherwise the words of both count,
 * as Python writes the pair.
 */
function pairText([name, value]: readonly [string, string]): string {
  const colour = COLOURS.find((colour) => colour === name || colour === value);
  return colour ?? `(${reprText(name)}, ${reprText(value)})`;
}

/** Every wanted option counts once if any of the chosen values is like it. */
export function matchedOptions(wanted: GoalOptions, chosen: readonly string[]): number {
  const values = chosen.map(colourOf);
  const texts = wanted.kind === "named" ? wanted.pairs.map(pairText) : wanted.values.map(colourOf);
  return texts.filter((text) => values.some((value) => isAlike(value, text))).length;
}
