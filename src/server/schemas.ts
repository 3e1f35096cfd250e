import { z } from 'zod';

const count = z.int().min(0);

/** What is named in the OpenAPI document. */
export const named = z.registry<{ id: string }>();

const usage = z
  .looseObject({ input: count, output: count, cache_read: count, cache_write: count, reasoning: count })
  .describe('Tokens. `input` has the cached ones, `output` the reasoning.')
  .register(named, { id: 'Usage' });

const summary = {
  session: z.string().describe('`s_…` of a root, `sa_…` of a sub-agent.'),
  kind: z.enum(['root', 'child']),
  status: z
    .enum([
      'idle',
      'running',
      'queued',
      'parked',
      'interrupted',
      'completed',
      'failed',
      'cancelled',
      'limit',
      'no_answer',
    ])
    .describe(
      'How the newest turn ended; `running` while somebody holds it, `queued` while it waits for a worker, `parked` while for its sub-agents, `interrupted` when nobody goes on with it.',
    ),
  root: z.string(),
  parent: z.string().nullable(),
  skill: z.string().nullable(),
  title: z.string().describe('First line of the first message.'),
  cwd: z.string(),
  model: z.string(),
  depth: count,
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  events: count.describe('Number of the last event.'),
  holder: z.string().nullable().describe('Who runs it.'),
};

const session = z.looseObject(summary).register(named, { id: 'Session' });

const sessionPage = z
  .looseObject({
    sessions: z.array(session),
    next: z.string().nullable().describe('`cursor` of the next page; null on the last one.'),
  })
  .register(named, { id: 'SessionPage' });

const message = z
  .looseObject({ role: z.enum(['user', 'assistant', 'tool']), content: z.string() })
  .describe('With `origin`, `reasoning`, `tool_calls`, or `call`, `name`, `is_error` and `child`, by its role.')
  .register(named, { id: 'Message' });

const wholeSession = z
  .looseObject({
    ...summary,
    steps: count.describe('Model calls.'),
    usage,
    child_usage: usage,
    cost: z.number().nullable(),
    messages: z.array(message),
  })
  .register(named, { id: 'SessionWithMessages' });

const tree: z.ZodType = z
  .looseObject({
    session: summary.session,
    status: summary.status.optional(),
    skill: summary.skill.optional(),
    title: summary.title.optional(),
    steps: count,
    max_steps: count.nullable(),
    usage,
    cost: z.number().nullable(),
    elapsed_ms: z.number(),
    doing: z.array(z.string()).describe('Calls that go on.'),
    waiting_for: z.array(z.string()),
    get children(): z.ZodArray<z.ZodType> {
      return z.array(tree);
    },
  })
  .register(named, { id: 'SessionTree' });

const skill = z
  .looseObject({
    name: z.string(),
    description: z.string(),
    run_as: z.enum(['inline', 'subagent']),
    source: z.string(),
    scope: z.string(),
    path: z.string(),
    invocation: z.enum(['auto', 'manual']),
  })
  .register(named, { id: 'Skill' });

const skills = z.looseObject({ skills: z.array(skill), total: count }).register(named, { id: 'Skills' });
const accepted = z.looseObject({ session: summary.session }).register(named, { id: 'Accepted' });

const problem = z
  .looseObject({ error: z.looseObject({ code: z.string(), message: z.string(), hint: z.string().nullable() }) })
  .register(named, { id: 'Problem' });

export const answers = { sessionPage, wholeSession, tree, skills, accepted, problem };

const limits = z
  .strictObject({
    steps: z.int().min(1).optional().describe('Model calls of the session itself.'),
    tokens: z.int().min(1).optional(),
    cost: z.number().min(0).optional(),
    time: z.int().min(1).optional().describe('Milliseconds.'),
    spawns: z.int().min(0).optional(),
    depth: z.int().min(0).optional(),
  })
  .describe('Of this turn, sub-agents included; what is left out is as configured.')
  .register(named, { id: 'Limits' });

const terms = {
  model: z.string().min(1).optional().describe('`provider/model`, a model, or a provider.'),
  limits: limits.optional(),
};

export const create = z
  .strictObject({
    task: z.string().describe('The first message, or the arguments of `skill`.'),
    skill: z.string().min(1).optional().describe('Runs this skill, as `/name arguments` does.'),
    ...terms,
  })
  .refine(({ task, skill }) => skill !== undefined || task.trim() !== '', { path: ['task'], message: 'is empty' });

export const send = z
  .strictObject({ text: z.string(), ...terms })
  .refine(({ text }) => text.trim() !== '', { path: ['text'], message: 'is empty' });

export const resume = z.strictObject(terms);

const number = z
  .string()
  .regex(/^\d{1,15}$/, 'is no number')
  .transform(Number);

export const listing = z.strictObject({
  kind: z.enum(['root', 'child']).optional(),
  root: z.string().optional().describe('Sessions of this tree.'),
  parent: z.string().optional().describe('Children of this session.'),
  cwd: z.string().optional().describe('Of this working folder.'),
  open: z.literal('true').optional().describe('Those whose newest turn has no end.'),
  by: z.enum(['created', 'updated']).optional().describe('Default created, with which pages stay as they are.'),
  order: z.enum(['newest', 'oldest']).optional(),
  limit: number.optional().describe('1 to 1,000; default 100.'),
  cursor: z.string().optional().describe('The `next` of the page before.'),
});

export const following = z.strictObject({
  from: number.optional().describe('Events after this number; default 0, all of them. `Last-Event-ID` comes first.'),
});
