/**
 * @file The answer to `help` in games that bring no text of their own.
 */

export const HELP = `
You can type:
  look                                what is around you
  inventory                           what you carry
  go to (place)                       walk to a place
  open (place), close (place)         open or close it
  examine (place or carried thing)    look at it closely
  take (thing) from (place)           pick a thing up
  move (thing) to (place)             put what you carry there
  clean (thing) with (sink)           wash what you carry
  heat (thing) with (microwave)       warm it up
  cool (thing) with (fridge)          cool it down
  slice (thing) with (knife)          cut it
  use (lamp)                          switch it on
`;
