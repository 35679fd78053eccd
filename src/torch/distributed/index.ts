/**
 * @file The door of process groups: several processes that train together.
 */
export { type FailureReason, ProcessGroupError } from "./errors.ts";
export {
  type Backend,
  type GroupReduction,
  initializeProcessGroup,
  ProcessGroup,
  type ProcessGroupOptions,
} from "./group.ts";
export {
  LaunchError,
  type LaunchOptions,
  launch,
  type OutputLine,
  type RankResult,
} from "./launch.ts";
export { findRendezvous, type Rendezvous } from "./rendezvous.ts";
