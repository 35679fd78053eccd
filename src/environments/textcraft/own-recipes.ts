/**
 * @file Recipes of our own making: a workshop's things of wood, metal, cloth, stone and food, so that
 * the world works without anybody's data.
 *
 * A line is `count output [tag] = count ingredient + count #tag`; {wood} and the like stand for each
 * of their words in turn.
 */
import type { RecipeEntry } from "./book.ts";
import { idOf } from "./recipe.ts";

const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  "{wood}": ["ash", "birch", "cedar", "maple", "pine", "willow"],
  "{metal}": ["bronze", "copper", "iron", "silver", "tin"],
  "{plant}": ["blue", "red", "white", "yellow"],
  "{color}": ["blue", "brown", "green", "orange", "purple", "red", "white", "yellow"],
  "{stone}": ["granite", "limestone", "marble", "slate"],
  "{fruit}": ["apple", "cherry", "pear", "plum"],
};

const LINES = `
4 {wood} boards [boards] = 1 {wood} trunk
2 {wood} beam [beam] = 3 {wood} boards
1 {wood} door [door] = 6 {wood} boards + 2 iron hinge
2 {wood} shutter = 3 {wood} boards + 1 iron hinge
3 {wood} fence = 2 {wood} boards + 4 rod
1 {wood} chair [chair] = 3 {wood} boards + 4 rod
1 {wood} table = 4 {wood} boards + 1 {wood} beam
1 {wood} barrel [barrel] = 7 {wood} boards + 2 iron hoop
1 {wood} crate [crate] = 6 {wood} boards + 8 iron nail
1 {wood} cupboard = 2 {wood} boards + 1 {wood} door
1 {wood} ladder = 7 rod + 1 {wood} beam
1 {wood} boat = 8 {wood} boards + 2 {wood} beam + 1 pitch
4 rod = 2 #boards
2 charcoal = 1 #beam
1 {metal} bar = 3 {metal} ore + 1 charcoal
8 {metal} nail = 1 {metal} bar
2 {metal} hinge = 1 {metal} bar + 2 {metal} nail
3 {metal} hoop = 2 {metal} bar
1 {metal} hammer = 2 {metal} bar + 1 rod
1 {metal} saw = 3 {metal} bar + 2 rod
1 {metal} shovel = 1 {metal} bar + 2 rod
1 {metal} bucket = 3 {metal} bar + 1 {metal} hoop
1 {metal} kettle = 4 {metal} bar + 1 rod
1 {metal} bell = 5 {metal} bar
6 {metal} chain = 2 {metal} bar
1 {metal} key = 1 {metal} bar + 1 {metal} nail
1 {metal} lock = 2 {metal} bar + 1 {metal} key
1 {metal} lantern = 2 {metal} bar + 1 glass + 1 candle
1 strongbox = 1 #crate + 4 iron hoop + 1 iron lock
2 {plant} dye = 1 {plant} petals
2 green dye = 1 blue dye + 1 yellow dye
2 orange dye = 1 red dye + 1 yellow dye
2 purple dye = 1 blue dye + 1 red dye
2 brown dye = 1 orange dye + 1 blue dye
4 thread = 1 fleece
2 thread = 3 flax
1 {color} cloth [cloth] = 6 thread + 1 {color} dye
1 {color} rug = 3 {color} cloth
1 {color} curtain = 2 {color} cloth + 1 rod
1 {color} flag = 1 {color} cloth + 2 rod
1 {color} blanket = 2 {color} cloth + 1 fleece
1 {color} tent = 6 {color} cloth + 4 rod + 2 rope
1 {color} bed = 1 {color} blanket + 4 #boards + 1 mattress
1 {color} candle = 1 candle + 1 {color} dye
1 mattress = 4 #cloth + 6 straw
2 rope = 8 thread
1 net = 4 rope
1 sack = 1 #cloth + 1 rope
2 candle = 1 wax + 1 thread
3 pitch = 1 resin + 1 charcoal
4 glass = 4 sand + 1 charcoal
1 window = 2 glass + 4 rod
1 mirror = 1 glass + 1 silver bar
6 paper = 2 pulp
1 pulp = 1 #boards + 1 water
1 book = 6 paper + 2 thread + 1 leather
1 map = 4 paper + 1 blue dye
1 compass = 1 bronze bar + 1 glass + 1 iron nail
1 bookcase = 6 #boards + 4 book
4 {stone} brick [brick] = 2 {stone} rock
2 {stone} slab = 3 {stone} brick
4 {stone} stairs = 6 {stone} brick
1 {stone} pillar = 4 {stone} brick + 1 mortar
6 {stone} wall = 6 {stone} brick + 2 mortar
1 {stone} arch = 2 {stone} pillar + 1 {stone} slab
3 mortar = 2 sand + 1 water
1 oven = 8 #brick + 2 mortar + 1 iron bar
1 chimney = 6 #brick + 3 mortar
3 flour = 4 wheat
2 dough = 2 flour + 1 water
1 bread = 2 dough
2 butter = 3 milk
1 cheese = 6 milk + 1 salt
1 {fruit} jam [jam] = 4 {fruit} + 2 sugar
1 {fruit} tart = 3 {fruit} + 1 dough + 1 butter
3 sugar = 5 beet
1 cake = 2 flour + 2 egg + 1 butter + 1 sugar
1 layer cake = 2 cake + 1 #jam + 2 cream
2 cream = 4 milk
1 wheel = 1 #beam + 6 rod + 1 iron hoop
1 cart = 6 #boards + 2 wheel + 1 rope
1 wagon = 1 cart + 2 wheel + 3 #cloth
1 mill = 1 wheel + 4 #beam + 6 #brick
1 loom = 4 #beam + 6 rod + 4 rope
1 well = 8 #brick + 1 rope + 1 iron bucket
1 bench = 2 #beam + 4 #boards
1 sailing boat = 1 pine boat + 4 white cloth + 3 rope
1 clock = 1 bronze bell + 4 bronze chain + 1 glass + 4 #boards
`;

export function ownRecipes(): RecipeEntry[] {
  return LINES.trim().split("\n").flatMap(expanded).map(parsed);
}

/** The line for each word of the family that it names. */
function expanded(line: string): string[] {
  const family = Object.keys(FAMILIES).find((name) => line.includes(name));
  return family === undefined
    ? [line]
    : FAMILIES[family]!.map((word) => line.replaceAll(family, word));
}

function parsed(line: string): RecipeEntry {
  const [made, used] = line.split(" = ") as [string, string];
  const [, count, output, tag] = /^(\d+) ([^[]+?)(?: \[(.+)\])?$/.exec(made)!;
  return {
    output: idOf(output!),
    count: Number(count),
    ingredients: used.split(" + ").map((part) => {
      const [, count, hash, name] = /^(\d+) (#?)(.+)$/.exec(part)!;
      return { kind: hash === "" ? "item" : "tag", id: idOf(name!), count: Number(count) };
    }),
    ...(tag !== undefined && { tag: idOf(tag) }),
  };
}
