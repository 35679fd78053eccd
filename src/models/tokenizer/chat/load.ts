/**
 * @file The chat of a model folder: its tokenizer and its template.
 */
import { Chat } from "./chat.ts";
import { loadChatTemplate } from "./template.ts";
import { loadTokenizer } from "../files.ts";

export function loadChat(folder: string): Chat {
  return new Chat({ tokenizer: loadTokenizer(folder), template: loadChatTemplate(folder) });
}
