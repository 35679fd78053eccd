/**
 * @file The modes of observation, by the original's names.
 */

export const MODES = ["text", "text_rich", "html", "url"] as const;
export type Mode = (typeof MODES)[number];
