/**
 * @file The door of the gateway room: a model served as others' servers are, everything that agents ask it recorded
 * token by token, and worlds whose episodes are programs.
 */
export type { OpenServer } from "../network/index.ts";
export { type Wish, Wishes } from "./constrain/wishes.ts";
export type {
  GivenPiece,
  GivenReply,
  ReplyAsk,
  ReplySampling,
  SessionParts,
} from "./conversation/asked.ts";
export { type Branch, type Entry, FORK_REASONS, type ForkReason } from "./conversation/branches.ts";
export type { GatewayMessage, ToolCall } from "./conversation/messages.ts";
export { Session } from "./conversation/session.ts";
export { sessionTrajectory } from "./conversation/trajectory.ts";
export { GatewayError, type RefusalKind } from "./errors.ts";
export { Gateway, type GatewayOptions, type OpenSessionOptions } from "./gateway.ts";
export { type GatewayServerOptions, serveGateway } from "./http/serve.ts";
export { GatewayMetrics, Histogram } from "./metrics.ts";
export type { Command } from "./programs/command.ts";
export {
  type AgentProgramOptions,
  agentProgram,
  type JudgedEpisode,
  type ModelAccess,
  type ProgramAnswer,
  type ProgramTask,
} from "./programs/define.ts";
export {
  type ProgramSessionOptions,
  type ProgramSessions,
  programExpertPolicy,
  programSessions,
} from "./programs/sessions.ts";
export type { ToolStyle } from "./tools/style.ts";
export { TOOL_STYLES, type ToolTemplate } from "./tools/template.ts";
