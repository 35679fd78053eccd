/**
 * @file The door of the network room: what everything of ours that speaks HTTP stands on. `openServer`
 * for whoever answers, `exchange` for whoever asks.
 */

export { eventData } from "./client/events.ts";
export {
  type Answer,
  type Connected,
  ExchangeError,
  type ExchangeLimits,
  type ExchangeRequest,
  exchange,
  type FailureKind,
} from "./client/exchange.ts";
export { type Conversation, openSocket, type SocketRequest } from "./client/socket.ts";
export { NetworkError } from "./errors.ts";
export { isKeyPlace, KEY_PLACES, keyAt } from "./keys.ts";
export {
  type Handler,
  type OpenServer,
  openServer,
  type ServerOptions,
} from "./server/open.ts";
export type { SocketOptions, SocketSession } from "./server/sockets.ts";
export { oneLine, shown } from "./shown.ts";
