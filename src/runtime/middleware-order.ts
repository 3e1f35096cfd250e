import { ReasonixError } from '../core/errors.ts';
import { budgets } from '../middleware/budgets.ts';
import { type ClippingOptions, clipping } from '../middleware/clipping.ts';
import type { Compactor } from '../middleware/compaction/compactor.ts';
import { compaction } from '../middleware/compaction.ts';
import { finalAnswer } from '../middleware/final-answer.ts';
import { lazySkills } from '../middleware/lazy-skills.ts';
import { type McpToolsOptions, mcpTools } from '../middleware/mcp-tools.ts';
import { outputSchema } from '../middleware/output-schema.ts';
import { type PermissionOptions, permissions } from '../middleware/permissions.ts';
import { preloadedSkills } from '../middleware/preloaded-skills.ts';
import { projectInstructions } from '../middleware/project-instructions.ts';
import { redaction } from '../middleware/redaction.ts';
import { type RequiredSkillsOptions, requiredSkills } from '../middleware/required-skills.ts';
import { type SkillListing, skillCatalog } from '../middleware/skill-catalog.ts';
import type { Middleware } from '../session/middleware.ts';

export interface ShippedOptions {
  /** Absent without MCP servers. */
  mcp?: McpToolsOptions | undefined;
  /** Absent without hooks. */
  hooks?: Middleware | undefined;
  /** Values that are masked in everything a tool gives back. */
  secrets: readonly string[];
  permissions: PermissionOptions;
  compactor: Compactor;
  lazy: boolean;
  listing: SkillListing;
  /** Absent when required skills are switched off. */
  required?: RequiredSkillsOptions | undefined;
  clipping: ClippingOptions;
}

/** The shipped chain, outermost first. The names are what `before` and `after` refer to. */
export function shippedMiddleware(options: ShippedOptions): Middleware[] {
  return [
    redaction(options.secrets),
    ...(options.mcp ? [mcpTools(options.mcp)] : []),
    budgets(),
    permissions(options.permissions),
    ...(options.hooks ? [options.hooks] : []),
    compaction(options.compactor),
    projectInstructions(),
    options.lazy ? lazySkills(options.listing) : skillCatalog(options.listing),
    preloadedSkills(options.listing),
    ...(options.required ? [requiredSkills(options.required)] : []),
    finalAnswer(),
    outputSchema(),
    clipping(options.clipping),
  ];
}

/** Where a middleware of the user's goes: next to a shipped one, else innermost. */
export interface Placement {
  before?: string | undefined;
  after?: string | undefined;
}

/** @throws ReasonixError `usage` when the neighbour does not exist or the name is taken. */
export function insertMiddleware(
  chain: readonly Middleware[],
  middleware: Middleware,
  place: Placement = {},
): Middleware[] {
  if (chain.some(({ name }) => name === middleware.name)) {
    throw new ReasonixError('usage', `there is a middleware named ${middleware.name} already`, {
      hint: 'give it another name',
    });
  }
  const neighbour = place.before ?? place.after;
  if (neighbour === undefined) return [...chain, middleware];
  const index = chain.findIndex(({ name }) => name === neighbour);
  if (index < 0) {
    const names = chain.map(({ name }) => name).join(', ');
    throw new ReasonixError('usage', `there is no middleware named ${neighbour}`, { hint: `one of: ${names}` });
  }
  return chain.toSpliced(place.before === undefined ? index + 1 : index, 0, middleware);
}
