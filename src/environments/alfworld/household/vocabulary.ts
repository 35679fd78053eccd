/**
 * @file What there is in our own households: rooms, receptacles and objects, and which go together.
 *
 * The words are ours. Only those that the rules know by name (fridge, microwave, sink) are the same as
 * in the original games.
 */

export interface ReceptacleKind {
  readonly name: string;
  /** Has a door or a lid, which is closed in some rooms and missing in others. */
  readonly closable: boolean;
  /** Is in the rules; its door is never missing. */
  readonly appliance: boolean;
}

const surface = (name: string): ReceptacleKind => ({ name, closable: false, appliance: false });
const closable = (name: string): ReceptacleKind => ({ name, closable: true, appliance: false });
const appliance = (name: string): ReceptacleKind => ({ name, closable: true, appliance: true });

export const RECEPTACLES = {
  Fridge: appliance("Fridge"),
  Microwave: appliance("Microwave"),
  SinkBasin: surface("SinkBasin"),
  Workbench: surface("Workbench"),
  Windowsill: surface("Windowsill"),
  Mantel: surface("Mantel"),
  Hearth: surface("Hearth"),
  Rack: surface("Rack"),
  Stool: surface("Stool"),
  Trolley: surface("Trolley"),
  Pedestal: surface("Pedestal"),
  Piano: surface("Piano"),
  Hammock: surface("Hammock"),
  Bunk: surface("Bunk"),
  Easel: surface("Easel"),
  Barrel: surface("Barrel"),
  Rug: surface("Rug"),
  Larder: closable("Larder"),
  Locker: closable("Locker"),
  Trunk: closable("Trunk"),
  Chest: closable("Chest"),
  Wardrobe: closable("Wardrobe"),
  Bureau: closable("Bureau"),
  Crate: closable("Crate"),
  Hutch: closable("Hutch"),
  Toolbin: closable("Toolbin"),
} as const satisfies Readonly<Record<string, ReceptacleKind>>;

export type ReceptacleName = keyof typeof RECEPTACLES;

/** Objects that are alike: what can be done with them, and where they are kept (likeliest first). */
export interface ObjectGroup {
  readonly names: readonly string[];
  readonly cleanable?: boolean;
  readonly heatable?: boolean;
  readonly coolable?: boolean;
  readonly homes: readonly ReceptacleName[];
}

export const OBJECT_GROUPS: readonly ObjectGroup[] = [
  {
    names: ["Dumpling", "Waffle", "Muffin", "Pretzel", "Lasagna", "Samosa"],
    heatable: true,
    coolable: true,
    homes: ["Workbench", "Larder", "Fridge", "Trolley", "Microwave", "Stool"],
  },
  {
    names: ["Mango", "Carrot", "Turnip", "Radish", "Melon", "Papaya"],
    cleanable: true,
    heatable: true,
    coolable: true,
    homes: ["SinkBasin", "Workbench", "Larder", "Fridge", "Barrel", "Trolley", "Microwave"],
  },
  {
    names: ["Goblet", "Jug", "Tankard", "Ramekin", "Saucer"],
    cleanable: true,
    heatable: true,
    coolable: true,
    homes: [
      "Hutch",
      "Workbench",
      "SinkBasin",
      "Rack",
      "Trolley",
      "Windowsill",
      "Fridge",
      "Microwave",
    ],
  },
  {
    names: ["Whisk", "Grater", "Colander", "Sieve", "Tongs", "Chopstick"],
    cleanable: true,
    homes: ["Rack", "Hutch", "SinkBasin", "Workbench", "Larder", "Trolley", "Crate"],
  },
  {
    names: ["Trowel", "Wrench", "Chisel", "Pliers", "Spanner"],
    cleanable: true,
    homes: ["Toolbin", "Workbench", "Barrel", "Rack", "Locker", "SinkBasin", "Crate"],
  },
  {
    names: ["Scarf", "Mitten", "Slipper", "Sandal", "Beret", "Shawl"],
    homes: ["Wardrobe", "Bunk", "Hammock", "Chest", "Trunk", "Stool", "Rug", "Locker"],
  },
  {
    names: ["Harmonica", "Flute", "Tambourine", "Ukulele", "Maraca"],
    homes: ["Piano", "Chest", "Windowsill", "Bunk", "Mantel", "Trunk", "Rug", "Pedestal"],
  },
  {
    names: ["Postcard", "Atlas", "Ledger", "Envelope", "Diary", "Almanac"],
    homes: ["Bureau", "Windowsill", "Mantel", "Stool", "Piano", "Bunk", "Chest", "Easel"],
  },
  {
    names: ["Crayon", "Ruler", "Eraser", "Stapler", "Chalk"],
    homes: ["Bureau", "Easel", "Toolbin", "Windowsill", "Workbench", "Locker", "Rug"],
  },
  {
    names: ["Thimble", "Ribbon", "Brooch", "Medal", "Marble", "Seashell", "Compass"],
    homes: ["Mantel", "Chest", "Bureau", "Pedestal", "Windowsill", "Trunk", "Hearth", "Stool"],
  },
  {
    names: ["Puppet", "Kite", "Domino", "Yoyo", "Whistle"],
    homes: ["Rug", "Bunk", "Chest", "Crate", "Hammock", "Trunk", "Hearth", "Piano"],
  },
];

/** They are switched on, not carried. */
export const LAMPS = ["Lantern", "Spotlight"] as const;
export const LAMP_HOMES: readonly ReceptacleName[] = [
  ...([
    "Bureau",
    "Windowsill",
    "Workbench",
    "Piano",
    "Mantel",
    "Stool",
    "Pedestal",
    "Easel",
  ] as const),
];

/** A kind of room: what it surely has, and what it may have more of. */
export interface RoomKind {
  readonly name: string;
  readonly fixed: readonly ReceptacleName[];
  readonly more: readonly ReceptacleName[];
  /** Indices into OBJECT_GROUPS. */
  readonly groups: readonly number[];
}

const APPLIANCES = ["Fridge", "Microwave", "SinkBasin"] as const;

export const ROOM_KINDS: readonly RoomKind[] = [
  {
    name: "galley",
    fixed: [...APPLIANCES, "Workbench", "Larder"],
    more: ["Hutch", "Rack", "Larder", "Trolley", "Stool", "Windowsill", "Crate", "Workbench"],
    groups: [0, 1, 2, 3, 9],
  },
  {
    name: "canteen",
    fixed: [...APPLIANCES, "Trolley", "Hutch"],
    more: ["Trolley", "Hutch", "Larder", "Barrel", "Stool", "Workbench", "Rack", "Bureau"],
    groups: [0, 1, 2, 3, 7],
  },
  {
    name: "cabin",
    fixed: [...APPLIANCES, "Bunk", "Mantel"],
    more: [
      "Chest",
      "Trunk",
      "Larder",
      "Hearth",
      "Windowsill",
      "Workbench",
      "Stool",
      "Hammock",
      "Hutch",
    ],
    groups: [0, 1, 2, 5, 7, 9, 10],
  },
  {
    name: "potting shed",
    fixed: ["SinkBasin", "Workbench", "Toolbin"],
    more: ["Barrel", "Rack", "Toolbin", "Locker", "Crate", "Windowsill", "Stool"],
    groups: [1, 4, 3, 8],
  },
  {
    name: "music room",
    fixed: ["Piano", "Mantel", "Windowsill"],
    more: ["Chest", "Trunk", "Pedestal", "Stool", "Bureau", "Rug", "Wardrobe", "Bunk"],
    groups: [6, 7, 9, 5],
  },
  {
    name: "study",
    fixed: ["Bureau", "Windowsill", "Stool"],
    more: ["Bureau", "Mantel", "Chest", "Easel", "Locker", "Pedestal", "Rug", "Trunk"],
    groups: [7, 8, 9, 10],
  },
  {
    name: "nursery",
    fixed: ["Bunk", "Rug", "Chest"],
    more: ["Wardrobe", "Crate", "Hammock", "Windowsill", "Bureau", "Trunk", "Stool", "Piano"],
    groups: [5, 6, 8, 10],
  },
  {
    name: "loft",
    fixed: ["Hammock", "Trunk", "Easel"],
    more: ["Trunk", "Wardrobe", "Chest", "Crate", "Locker", "Pedestal", "Windowsill", "Bureau"],
    groups: [5, 6, 7, 8, 9],
  },
];
