/**
 * @file The words of the built-in shop: what it sells, and how things are described there.
 */

/** One kind of thing. */
export interface Kind {
  /** As in a sentence, and what is searched for: "running shoes". */
  readonly name: string;
  /** As in a title. */
  readonly title: string;
  readonly department: string;
  readonly family: string;
  /** In dollars. */
  readonly prices: readonly [number, number];
  /** The option besides the colour. */
  readonly option: { readonly name: string; readonly values: readonly string[] };
  readonly attributes: readonly string[];
}

/** What an option besides the colour is called, and which values there are. */
const SIZES = {
  clothes: ["size", "x-small,small,medium,large,x-large,xx-large,3x-large"],
  shoes: ["size", "6,6.5,7,7.5,8,8.5,9,10,11,12"],
  lengths: ["length", "3 feet,6 feet,10 feet,15 feet,25 feet,50 feet"],
  packs: ["item count", "single,pack of 2,pack of 3,pack of 6,pack of 12"],
  volumes: ["capacity", "8 ounce,12 ounce,16 ounce,24 ounce,32 ounce,64 ounce"],
  liters: ["capacity", "18 liter,24 liter,30 liter,40 liter,55 liter,65 liter"],
  beds: ["size", "twin,full,queen,king,california king"],
  inches: ["size", "18 inch,24 inch,30 inch,36 inch,48 inch,60 inch,72 inch"],
  pans: ["size", "8 inch,9.5 inch,10 inch,11 inch,12 inch"],
  memory: ["storage", "32 gb,64 gb,128 gb,256 gb,512 gb,1 tb"],
  hours: ["battery life", "10 hours,20 hours,30 hours,40 hours,60 hours"],
  people: ["room for", "1 person,2 persons,3 persons,4 persons,6 persons"],
} as const;

/** What is said of all things of a department. */
const SHARED: Readonly<Record<string, readonly string[]>> = {
  Clothing: [
    ...["machine washable", "quick drying", "stretch fabric", "organic cotton", "wrinkle free"],
    ...["relaxed fit", "slim fit", "soft lining", "reinforced seams", "side pockets"],
  ],
  Shoes: [
    ...["arch support", "memory foam", "slip resistant", "rubber sole", "wide toe"],
    ...["lightweight build", "padded collar", "vegan leather", "water repellent"],
  ],
  Electronics: [
    ...["energy saving", "plug and play", "travel case included", "two year warranty"],
    ...[
      "compact design",
      "recycled plastic",
      "quiet operation",
      "gift packaging",
      "carbon neutral",
    ],
  ],
  Home: [
    ...["easy assembly", "scratch resistant", "space saving", "solid wood", "stain resistant"],
    ...["non toxic", "hand finished", "rust proof", "fade resistant"],
  ],
  Kitchen: [
    ...["dishwasher safe", "bpa free", "leak proof", "stainless steel", "heat resistant"],
    ...["easy grip", "non stick", "double walled", "stackable"],
  ],
  Beauty: [
    ...["cruelty free", "fragrance free", "paraben free", "long lasting", "sensitive skin"],
    ...["tea tree", "shea butter", "vitamin e", "travel size"],
  ],
  Food: [
    ...["gluten free", "low sodium", "sugar free", "non gmo", "plant based"],
    ...["keto friendly", "no artificial flavors", "resealable bag", "high protein"],
  ],
  Outdoor: [
    ...["water resistant", "wind proof", "uv protection", "carry bag", "quick release"],
    ...["tear resistant", "reflective strips", "aluminum frame", "insulated"],
  ],
};

type Row = readonly [
  family: string,
  name: string,
  sizes: keyof typeof SIZES,
  low: number,
  high: number,
  attributes: string,
];

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  Clothing: [
    [
      "Tops",
      "men's polo shirts",
      "clothes",
      12,
      60,
      "button closure,short sleeve,moisture wicking",
    ],
    ["Tops", "women's knit sweaters", "clothes", 18, 90, "long sleeve,crew neck,cable pattern"],
    ["Outerwear", "rain jackets", "clothes", 25, 140, "taped zippers,adjustable hood,packable"],
    [
      "Trousers",
      "women's yoga leggings",
      "clothes",
      14,
      70,
      "high waist,tummy control,squat proof",
    ],
    [
      "Trousers",
      "men's cargo shorts",
      "clothes",
      15,
      55,
      "elastic waist,drawstring closure,zip pocket",
    ],
    [
      "Sleepwear",
      "flannel pajama sets",
      "clothes",
      20,
      65,
      "brushed cotton,button front,piped trim",
    ],
  ],
  Shoes: [
    ["Athletic", "trail running shoes", "shoes", 35, 160, "deep lugs,rock plate,gusseted tongue"],
    ["Casual", "canvas sneakers", "shoes", 18, 70, "lace up,cotton lining,low top"],
    ["Boots", "winter boots", "shoes", 40, 190, "faux fur lining,side zipper,steel shank"],
    ["Slippers", "house slippers", "shoes", 10, 45, "closed toe,fleece lining,indoor outdoor"],
    ["Sandals", "hiking sandals", "shoes", 22, 95, "adjustable straps,contoured footbed,open toe"],
  ],
  Electronics: [
    ["Audio", "bluetooth headphones", "hours", 20, 280, "noise cancelling,foldable,over ear"],
    ["Audio", "portable speakers", "hours", 15, 220, "stereo pairing,bass boost,shock proof"],
    ["Cables", "hdmi cables", "lengths", 5, 45, "gold plated,braided nylon,high speed"],
    [
      "Cameras",
      "security cameras",
      "memory",
      25,
      260,
      "night vision,motion detection,two way audio",
    ],
    [
      "Tablets",
      "drawing tablets",
      "memory",
      45,
      420,
      "pressure sensitive,battery free pen,tilt support",
    ],
    ["Storage", "solid state drives", "memory", 25, 240, "hardware encryption,metal housing,usb c"],
  ],
  Home: [
    ["Bedding", "quilted comforters", "beds", 30, 180, "all season,corner loops,down alternative"],
    ["Furniture", "coffee tables", "inches", 60, 480, "lower shelf,tempered glass,storage drawer"],
    ["Furniture", "bookcases", "inches", 45, 390, "adjustable shelves,anti tip,open back"],
    ["Lighting", "floor lamps", "inches", 25, 170, "dimmable,foot switch,adjustable arm"],
    [
      "Curtains",
      "blackout curtains",
      "inches",
      15,
      85,
      "thermal insulated,grommet top,noise reducing",
    ],
    ["Rugs", "area rugs", "inches", 25, 320, "low pile,non slip backing,jute fiber"],
  ],
  Kitchen: [
    ["Drinkware", "water bottles", "volumes", 9, 48, "wide mouth,straw lid,vacuum insulated"],
    ["Cookware", "frying pans", "pans", 18, 120, "induction ready,oven safe,ceramic coating"],
    ["Storage", "food storage jars", "volumes", 8, 55, "bamboo lid,airtight seal,clear glass"],
    [
      "Appliances",
      "electric kettles",
      "volumes",
      20,
      110,
      "auto shutoff,gooseneck spout,keep warm",
    ],
    ["Tools", "chef knives", "packs", 15, 160, "full tang,high carbon,pakkawood handle"],
  ],
  Beauty: [
    ["Hair Care", "hair shampoos", "volumes", 6, 42, "sulfate free,argan oil,color safe"],
    ["Skin Care", "face moisturizers", "volumes", 8, 75, "hyaluronic acid,oil free,spf 30"],
    ["Bath", "bath bombs", "packs", 7, 38, "lavender scent,epsom salt,gift box"],
    ["Makeup", "lip balms", "packs", 4, 26, "tinted,beeswax,overnight care"],
    ["Tools", "makeup brushes", "packs", 9, 68, "synthetic bristles,wooden handle,brush holder"],
  ],
  Food: [
    ["Snacks", "trail mixes", "packs", 6, 40, "dried cranberries,dark chocolate,roasted almonds"],
    ["Drinks", "green teas", "packs", 5, 36, "loose leaf,jasmine,caffeine free"],
    ["Pantry", "olive oils", "volumes", 9, 58, "cold pressed,extra virgin,single estate"],
    ["Snacks", "protein bars", "packs", 12, 48, "peanut butter,whole grain,high fiber"],
    ["Pantry", "hot sauces", "packs", 5, 33, "habanero,smoked pepper,small batch"],
  ],
  Outdoor: [
    ["Camping", "camping tents", "people", 45, 390, "color coded poles,mesh windows,full rainfly"],
    ["Camping", "sleeping bags", "inches", 28, 210, "mummy shape,two way zipper,compression sack"],
    ["Cycling", "bike helmets", "clothes", 20, 150, "magnetic buckle,rear light,removable visor"],
    ["Garden", "garden hoses", "lengths", 16, 95, "kink free,brass fittings,drinking water safe"],
    ["Travel", "hiking backpacks", "liters", 30, 190, "hip belt,rain cover,laptop sleeve"],
  ],
};

export const KINDS: readonly Kind[] = Object.entries(ROWS).flatMap(([department, rows]) =>
  rows.map(([family, name, sizes, low, high, attributes]) => ({
    ...{ name, department, family, prices: [low, high] as const },
    option: { name: SIZES[sizes][0], values: SIZES[sizes][1].split(",") },
    title: titled(name),
    attributes: [...attributes.split(","), ...SHARED[department]!],
  })),
);

/** With a capital letter at the beginning of each word. */
export function titled(text: string): string {
  return text.replace(/(^|\s)\p{L}/gu, (letter) => letter.toUpperCase());
}

export const COLOURS: readonly string[] = [
  ...[
    "black",
    "white",
    "navy",
    "forest green",
    "sky blue",
    "charcoal",
    "burgundy",
    "mustard yellow",
  ],
  ...[
    "rose pink",
    "olive",
    "teal",
    "coral",
    "lavender",
    "silver",
    "copper",
    "walnut brown",
    "ivory",
  ],
  ...["turquoise", "plum", "rust", "sand", "graphite", "mint", "peach"],
];

/** Begin and end of made-up brands. */
export const BRAND_BEGINNINGS: readonly string[] = [
  ...["Alto", "Bren", "Cavi", "Dorn", "Elko", "Farra", "Gild", "Haven", "Ivo", "Jora", "Kest"],
  ...["Lumo", "Marr", "Nesta", "Orbi", "Pella", "Quill", "Rova", "Sundr", "Tavi", "Umber", "Velda"],
];
export const BRAND_ENDS: readonly string[] = [
  ...["bay", "craft", "dell", "field", "line", "mark", "moor", "nest", "point", "ridge", "well"],
  ...["works", "wood", "yard"],
];

export const STYLES: readonly string[] = [
  ...["Classic", "Everyday", "Signature", "Essential", "Heritage", "Studio", "Summit", "Coastal"],
  ...["Metro", "Alpine", "Harbor", "Meadow"],
];

export const AUDIENCES: readonly string[] = [
  ...["daily use", "beginners", "travel", "the whole family", "the office", "weekend trips"],
  ...["small apartments", "gifts", "cold mornings", "long days"],
];
