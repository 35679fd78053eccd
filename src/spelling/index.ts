/**
 * @file The door of the spelling room: what was probably meant, what is to be spelled out, and what not. Every
 * room and the command line may ask, so it knows nobody and loads nothing.
 */

export { HIDDEN, withoutCredentials, withoutKey } from "./hidden.ts";
export { nearest } from "./nearest.ts";
export { visible, visibleLine } from "./visible.ts";
