/** When a hook runs. */
export const HOOK_MOMENTS = [
  'session_start',
  'session_end',
  'before_model',
  'before_tool',
  'after_tool',
  'turn_end',
  'subagent_start',
  'subagent_end',
  'skill_loaded',
  'compaction',
] as const;

export type HookMoment = (typeof HOOK_MOMENTS)[number];

/** A command around the loop, as `[[hooks]]` describes it. */
export interface HookSettings {
  name: string;
  on: HookMoment[];
  /** For the shell. */
  command: string;
  /** Wildcards over names of tools or skills; default all. */
  match?: string[] | undefined;
  /** Milliseconds; default 60,000. */
  timeout?: number | undefined;
}
