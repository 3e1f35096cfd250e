/**
 * Reasonix: a runtime for agents that delegate. Start with `openRuntime`.
 * @module
 */
export type { Config } from './config/config.ts';
export { Budget } from './core/budget.ts';
export { type ErrorCode, ReasonixError } from './core/errors.ts';
export {
  type EventOf,
  type EventType,
  eventSchema,
  type SessionEvent,
  type StoredEvent,
  type TurnStatus,
} from './core/events.ts';
export { type LimitHit, type LimitName, LimitReached, type Limits } from './core/limits.ts';
export type {
  AssistantMessage,
  Message,
  MessageOrigin,
  ToolCall,
  ToolDefinition,
  ToolImage,
  ToolMessage,
  UserMessage,
} from './core/messages.ts';
export type { Price, Usage } from './core/usage.ts';
export type { Approval, ApprovalRequest } from './middleware/approvals.ts';
export type {
  GenerateOptions,
  ModelClient,
  ModelDelta,
  ModelReply,
  ModelRequest,
  Models,
  ProviderSettings,
  ResolvedModel,
} from './models/contract.ts';
export { scriptedModel } from './models/scripted.ts';
export { expectStablePrefix, type PrefixBreak, prefixBreaks } from './models/stable-prefix.ts';
export type { Compacted, CompactOptions } from './runtime/compact-now.ts';
export { openPostgresStore, openRuntime, openSqliteStore } from './runtime/openers.ts';
export type { RuntimeOptions, SendOptions, SessionOptions } from './runtime/options.ts';
export {
  type ChainStep,
  chain,
  type FanOutOptions,
  type FanOutResult,
  fanOut,
  type UntilResult,
  until,
} from './runtime/pipeline.ts';
export type { RunResult, SubagentReport } from './runtime/run-report.ts';
export type { Runtime } from './runtime/runtime.ts';
export type { SessionHandle } from './runtime/session-handle.ts';
export type { SessionRun } from './runtime/session-run.ts';
export type { SkillHandle, SkillRun, SkillRunOptions } from './runtime/skill-handle.ts';
export type { Observation } from './session/host.ts';
export {
  defineMiddleware,
  type Middleware,
  type ModelCall,
  type NextModel,
  type NextTool,
  type SessionInfo,
  type SessionSetup,
  type ToolRun,
  type TurnOpening,
  type TurnVerdict,
  type TurnView,
} from './session/middleware.ts';
export { Thread } from './session/thread.ts';
export { openLibrary } from './skills/library.ts';
export type { Diagnostic, LibraryOptions, Skill, SkillLibrary, SkillLookup } from './skills/types.ts';
export type {
  BlobStore,
  FollowableStore,
  Lease,
  ListFilter,
  Page,
  SessionStore,
  SessionSummary,
} from './store/contract.ts';
export { memoryStore } from './store/memory.ts';
export type { PostgresStoreOptions } from './store/postgres.ts';
export { defineTool, type Tool, type ToolContext, type ToolEffects, type ToolOutcome } from './tools/define-tool.ts';
