import { nearest } from '../../config/nearest.ts';
import { ReasonixError } from '../../core/errors.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { SessionHandle } from '../../runtime/session-handle.ts';
import { searchSkills } from '../../skills/search.ts';
import { ago, fullCount, statusOf } from '../format.ts';
import { dataColumns, note } from '../output.ts';
import { findSession } from '../session/open-store.ts';
import { treeText } from '../session/tree.ts';
import { SessionWatch } from '../session/watch.ts';
import { findSkill } from '../skills.ts';
import { columnsOf, paintFor, printableLine, table } from '../terminal.ts';

/** What a command of a chat works on. `handle` is the session, `undefined` before the first message. */
export interface ChatState {
  readonly runtime: Runtime;
  readonly cwd: string;
  handle: SessionHandle | undefined;
  /** Opens the session when it does not exist yet. */
  open(resume?: string): Promise<SessionHandle>;
}

interface ChatCommand {
  usage: string;
  doc: string;
  run(state: ChatState, argument: string): Promise<void>;
}

const COMMANDS: Readonly<Record<string, ChatCommand>> = {
  help: { usage: '/help', doc: 'show this', run: async () => help() },
  skills: { usage: '/skills [PATTERN]', doc: 'list or search skills; /NAME ARGUMENTS runs one', run: skills },
  tree: { usage: '/tree', doc: 'show this session with its sub-agents', run: tree },
  compact: { usage: '/compact', doc: 'sum up the older part of this session', run: compact },
  resume: { usage: '/resume [REF]', doc: 'go on with another session; without REF list them', run: resume },
  new: { usage: '/new', doc: 'start a new session', run: startAnew },
  disable_skill: {
    usage: '/disable_skill NAME',
    doc: 'refuse a skill in this session',
    run: (state, name) => switchSkill(state, name, false),
  },
  enable_skill: {
    usage: '/enable_skill NAME',
    doc: 'allow it again',
    run: (state, name) => switchSkill(state, name, true),
  },
  quit: { usage: '/quit', doc: 'leave; Ctrl-D does too', run: async () => {} },
};

/**
 * Runs the command that a line begins with. `message`: the line is not one, and goes to the model or
 * to a skill.
 */
export async function chatCommand(state: ChatState, line: string): Promise<'done' | 'message' | 'quit'> {
  const [, word = '', argument = ''] = /^\/(\S+)\s*(.*)$/s.exec(line.trim()) ?? [];
  if (word === 'quit' || word === 'exit') return 'quit';
  if (word === '') return 'message';
  const command = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined;
  if (command) {
    await command.run(state, argument.trim());
    return 'done';
  }
  const isLone = argument.trim() === '' && !word.includes('/');
  if (!isLone || (await state.runtime.library(state.cwd)).find(word).status !== 'unknown') return 'message';
  const near = nearest(word, Object.keys(COMMANDS));
  throw new ReasonixError('usage', `there is no command or skill /${word}${near ? `; did you mean /${near}?` : ''}`, {
    hint: '/help lists the commands, /skills the skills',
  });
}

async function startAnew(state: ChatState): Promise<void> {
  state.handle = undefined;
}

function help(): void {
  const rows = Object.values(COMMANDS).map(({ usage, doc }) => [usage, doc]);
  for (const line of table(['', ''], rows, columnsOf(process.stderr)).slice(1)) note(line);
}

async function skills({ runtime, cwd }: ChatState, pattern: string): Promise<void> {
  const library = await runtime.library(cwd);
  const found = await searchSkills(library, { pattern });
  const rows = found.skills.map(({ name, run_as, description }) => [
    `/${printableLine(name)}`,
    run_as,
    printableLine(description),
  ]);
  for (const line of table(['', '', ''], rows, columnsOf(process.stderr)).slice(1)) note(line);
  note(`${found.matched} of ${found.total} skills`);
}

async function tree({ runtime, handle }: ChatState): Promise<void> {
  if (!handle) {
    note('the session starts with the first message');
    return;
  }
  const watch = new SessionWatch(runtime.store, await findSession(runtime.store, handle.id));
  await watch.look();
  for (const line of treeText(watch, { columns: columnsOf(process.stderr), paint: paintFor(process.stderr) }))
    note(line);
}

async function compact({ handle }: ChatState): Promise<void> {
  if (!handle) {
    note('the session starts with the first message');
    return;
  }
  note('summing up…');
  const done = await handle.compact();
  note(
    done
      ? `compacted: ${fullCount(done.after)} tokens instead of ${fullCount(done.before)}`
      : 'there is nothing worth summing up yet',
  );
}

async function resume(state: ChatState, reference: string): Promise<void> {
  const { store } = state.runtime;
  if (reference !== '') {
    const { session, title } = await findSession(store, reference);
    await state.open(session);
    note(`this is ${session}: ${printableLine(title)}`);
    return;
  }
  const { sessions } = await store.list({ kind: 'root', cwd: state.cwd }, { limit: 10, by: 'updated' });
  const rows = sessions.map((each) => [each.session, statusOf(each), ago(each.updatedAt), printableLine(each.title)]);
  for (const line of table(['', '', '', ''], rows, dataColumns()).slice(1)) note(line);
  note(sessions.length > 0 ? 'go on with one: /resume REF' : 'there are no sessions in this folder');
}

async function switchSkill(state: ChatState, name: string, enabled: boolean): Promise<void> {
  if (name === '') throw new ReasonixError('usage', 'the name of the skill is missing', { hint: '/skills lists them' });
  const skill = findSkill(await state.runtime.library(state.cwd), name);
  await (state.handle ?? (await state.open())).switchSkill(skill.name, enabled);
  note(`${skill.name} is ${enabled ? 'allowed' : 'refused'} in this session`);
}
