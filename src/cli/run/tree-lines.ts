import { totalTokens } from '../../core/usage.ts';
import { costText, plural, shortCount, shortTime } from '../format.ts';
import { clipWidth, type Paint, printableLine } from '../terminal.ts';
import { type Activity, elapsed, isRunning, stateOf, waitingFor } from './activity.ts';

export interface TreeLook {
  /** Where lines are cut; not at all when it is unknown. */
  columns: number | undefined;
  /** Lines that there is room for. */
  rows: number;
  paint: Paint;
  now: number;
  /** What the top is called. Default `agent`: the session is named elsewhere. */
  top?: string | undefined;
  /** What a session was asked, at the end of its line. */
  title?: ((session: string) => string | undefined) | undefined;
  /** A sign of its state in front of every name. Default true. */
  signs?: boolean | undefined;
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_TIME = 100;

/** In fewer columns a reference stands last: what happens matters more. */
const NARROW = 64;
const BAR = 8;

interface Line {
  activity: Activity;
  text: string;
}

/** The sub-agents of a run that is over. */
export function finalLines(root: Activity, look: TreeLook): string[] {
  const [, ...lines] = treeLines(root, look);
  return lines;
}

/** The tree as it stands, in at most `rows` lines; what has ended gives way first. */
export function treeLines(root: Activity, look: TreeLook): string[] {
  const all = [...linesOf(root, '', '', look)];
  if (all.length <= look.rows) return all.map(({ text }) => text);
  const room = Math.max(1, look.rows - 1);
  const surplus = all.length - room;
  const ended = new Set(all.filter(({ activity }) => !isRunning(activity)).slice(0, surplus));
  const left = all.filter((line) => !ended.has(line)).slice(0, room);
  return [...left.map(({ text }) => text), look.paint('dim', `  … ${all.length - left.length} more`)];
}

function* linesOf(activity: Activity, lead: string, below: string, look: TreeLook): Generator<Line> {
  yield { activity, text: lineOf(activity, lead, look) };
  const last = activity.children.at(-1);
  for (const child of activity.children) {
    const isLast = child === last;
    yield* linesOf(child, `${below}${isLast ? '└─ ' : '├─ '}`, `${below}${isLast ? '   ' : '│  '}`, look);
  }
}

function lineOf(activity: Activity, lead: string, look: TreeLook): string {
  const { columns, paint, now } = look;
  const works = isRunning(activity) && activity.isHeld;
  const isIdle = activity.status === 'idle';
  const isNarrow = columns !== undefined && columns < NARROW;
  const { name, reference } = namesOf(activity, look);
  const tokens = totalTokens(activity.usage);
  const parts = [
    isNarrow || reference === '' ? name : `${name} ${reference}`.trim(),
    works ? stepText(activity, isNarrow) : stateOf(activity),
    works || isIdle ? '' : plural(activity.steps, 'step'),
    works ? doing(activity) : '',
    childrenBar(activity),
    tokens > 0 ? `${shortCount(tokens)} tokens` : '',
    activity.cost ? costText(activity.cost) : '',
    isIdle ? '' : shortTime(elapsed(activity, now)),
    printableLine(activity.reason ?? ''),
    printableLine(look.title?.(activity.session) ?? ''),
    isNarrow ? reference : '',
  ].filter((part) => part !== '');
  const sign = look.signs === false ? '' : signOf(activity, now);
  const whole = `${lead}${sign && `${sign} `}${parts.join(' · ')}`;
  // Colours take no columns: the line is cut first, then its sign and its end get theirs.
  const text = columns === undefined ? whole : clipWidth(whole, columns - 1);
  const colour = works ? 'cyan' : activity.status === 'completed' ? 'green' : 'yellow';
  if (sign === '') return works ? paint('cyan', text) : text;
  return (works ? text : paint('dim', text)).replace(sign, paint(colour, sign));
}

/** The session that the user talks to is named once, above the tree. */
function namesOf({ parent, skill, session }: Activity, { top }: TreeLook): { name: string; reference: string } {
  if (parent) return { name: printableLine(skill) || 'sub-agent', reference: session };
  return top === undefined ? { name: 'agent', reference: '' } : { name: printableLine(top), reference: '' };
}

function stepText({ steps, maxSteps }: Activity, isNarrow: boolean): string {
  const step = Math.max(1, steps);
  if (maxSteps === undefined) return `step ${step}`;
  return `step ${step}/${maxSteps}${isNarrow ? '' : ` ${bar(step, maxSteps)}`}`;
}

function signOf(activity: Activity, now: number): string {
  if (isRunning(activity) && activity.isHeld) return FRAMES[Math.floor(now / FRAME_TIME) % FRAMES.length]!;
  if (activity.status === 'idle') return '·';
  return activity.status === 'completed' ? '✓' : '✗';
}

function doing(activity: Activity): string {
  const { calls, progress } = activity;
  const waits = waitText(activity);
  const texts = [...calls.values()].filter(({ skill }) => skill === undefined || waits === '').map(({ text }) => text);
  if (texts.length === 0) return waits || 'thinking';
  const more = texts.length > 1 ? ` +${texts.length - 1}` : '';
  const said = progress === undefined ? '' : `: ${clipWidth(printableLine(progress), 40)}`;
  return `${texts[0]}${more}${said}${waits && ` · ${waits}`}`;
}

function waitText(activity: Activity): string {
  const { children, slots } = waitingFor(activity);
  const names = (list: readonly string[]) =>
    list.length > 2 ? `${list.length} sub-agents` : list.map((each) => printableLine(each)).join(' and ');
  const texts = [
    children.length > 0 ? `waits for ${names(children.map(({ skill }) => skill))}` : '',
    slots.length > 0 ? `${names(slots)} ${slots.length === 1 ? 'waits' : 'wait'} for a slot` : '',
  ];
  return texts.filter((text) => text !== '').join(', ');
}

/** How many of several children are done. */
function childrenBar({ children }: Activity): string {
  if (children.length < 2) return '';
  const done = children.filter((child) => !isRunning(child) && child.status !== 'idle').length;
  return `${bar(done, children.length)} ${done}/${children.length}`;
}

function bar(done: number, total: number): string {
  const width = Math.min(total, BAR);
  const full = Math.min(width, Math.round((done / total) * width));
  return `${'▰'.repeat(full)}${'▱'.repeat(width - full)}`;
}
