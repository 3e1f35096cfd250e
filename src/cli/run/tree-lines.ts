import { plural, shortCount, shortTime } from '../format.ts';
import { clipWidth, type Paint, printableLine } from '../terminal.ts';
import type { Activity } from './activity.ts';

export interface TreeLook {
  columns: number;
  /** Lines that there is room for. */
  rows: number;
  paint: Paint;
  now: number;
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_TIME = 100;

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
  const ended = all.filter(({ activity }) => activity.status !== 'running').slice(0, surplus);
  const left = all.filter((line) => !ended.includes(line)).slice(0, room);
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

function lineOf(activity: Activity, lead: string, { columns, paint, now }: TreeLook): string {
  const isRunning = activity.status === 'running';
  // The session that the user talks to is named once, above the tree.
  const name = activity.parent ? `${printableLine(activity.skill)} ${activity.session}`.trim() : 'agent';
  const steps = isRunning
    ? `step ${Math.max(1, activity.steps)}${activity.maxSteps ? `/${activity.maxSteps}` : ''}`
    : plural(activity.steps, 'step');
  const parts = [
    isRunning ? steps : `${activity.status} · ${steps}`,
    isRunning ? doing(activity) : '',
    childrenBar(activity),
    activity.tokens > 0 ? `${shortCount(activity.tokens)} tokens` : '',
    shortTime((activity.endedAt ?? now) - activity.startedAt),
  ].filter((part) => part !== '');
  const sign = signOf(activity, now);
  // Colours take no columns: the line is cut first, then its sign and its end get theirs.
  const text = clipWidth(`${lead}${sign} ${name} · ${parts.join(' · ')}`, columns - 1);
  if (isRunning) return text.replace(sign, paint('cyan', sign));
  return paint('dim', text).replace(sign, paint(activity.status === 'completed' ? 'green' : 'yellow', sign));
}

function signOf({ status }: Activity, now: number): string {
  if (status === 'running') return FRAMES[Math.floor(now / FRAME_TIME) % FRAMES.length]!;
  return status === 'completed' ? '✓' : '✗';
}

function doing({ calls, progress }: Activity): string {
  const texts = [...calls.values()];
  const [first = 'thinking'] = texts;
  const more = texts.length > 1 ? ` +${texts.length - 1}` : '';
  return progress === undefined ? first + more : `${first}${more}: ${clipWidth(printableLine(progress), 40)}`;
}

/** How many of several children are done. */
function childrenBar({ children }: Activity): string {
  if (children.length < 2) return '';
  const done = children.filter(({ status }) => status !== 'running').length;
  const width = Math.min(children.length, 8);
  const full = Math.round((done / children.length) * width);
  return `${'▰'.repeat(full)}${'▱'.repeat(width - full)} ${done}/${children.length}`;
}
