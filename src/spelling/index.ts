/**
 * @file The door of the spelling room: what was probably meant. Every room and the command line may
 * ask, so it knows nobody and loads nothing.
 */

export { nearest } from "./nearest.ts";
