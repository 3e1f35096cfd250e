import type { ArgSpec, Command, FlagSpec } from './command.ts';
import { settingsFlags } from './settings-flags.ts';
import { type Paint, padWidth, widthOf, wrap } from './terminal.ts';

/** Help narrower than this is not readable any more. */
const NARROWEST = 40;
const WIDEST = 100;

export interface HelpOptions {
  columns: number;
  paint: Paint;
}

const argText = ({ name, kind }: ArgSpec): string =>
  ({ required: name, optional: `[${name}]`, rest: `[${name}]`, many: `${name}...` })[kind];

export function commandHelp(command: Command, { columns, paint }: HelpOptions): string {
  const width = Math.max(NARROWEST, Math.min(WIDEST, columns));
  const call = ['reasonix', command.name, ...command.args.map(argText), '[flags]'].join(' ');
  const names = Object.keys(command.flags);
  const own = names.filter((name) => !(name in settingsFlags));
  const shared = names.filter((name) => name in settingsFlags);
  const flagRows = (list: readonly string[]) =>
    list.map((name) => [flagText(name, command.flags[name]!), docOf(command.flags[name]!)]);
  const lines = [
    ...wrap(command.summary, width),
    '',
    paint('bold', 'Usage'),
    ...hanging(call, width),
    ...(command.details ?? []).flatMap((paragraph) => ['', ...wrap(paragraph, width)]),
    '',
    paint('bold', 'Flags'),
    ...rows([...flagRows(own), ['-h, --help', 'show this help']], width),
    ...(shared.length > 0 ? ['', paint('bold', 'Configuration'), ...rows(flagRows(shared), width)] : []),
    '',
    paint('bold', command.examples.length > 1 ? 'Examples' : 'Example'),
    ...command.examples.flatMap((example) => hanging(`reasonix ${example}`, width)),
  ];
  return lines.join('\n');
}

/** Help over several commands: all of them, or those of a group such as `skill`. */
export function overviewHelp(
  group: string | undefined,
  entries: readonly (readonly [name: string, summary: string])[],
  { columns, paint }: HelpOptions,
): string {
  const width = Math.max(NARROWEST, Math.min(WIDEST, columns));
  const call = group ? `reasonix ${group} COMMAND` : 'reasonix COMMAND';
  const example = group ? `reasonix ${entries[0]?.[0]} --help` : 'reasonix run "What does this repository do?"';
  return [
    ...(group
      ? []
      : [
          ...wrap(
            'Agents that delegate: skills run inline or as resumable sub-agents, on a durable session log.',
            width,
          ),
          '',
        ]),
    paint('bold', 'Usage'),
    ...hanging(`${call} [flags]`, width),
    '',
    paint('bold', 'Commands'),
    ...rows(entries, width),
    '',
    paint('bold', 'Example'),
    ...hanging(example, width),
    '',
    ...wrap(`Every command has --help.${group ? '' : ' reasonix --version prints the version.'}`, width),
  ].join('\n');
}

function flagText(name: string, spec: FlagSpec): string {
  const short = spec.short ? `-${spec.short}, ` : '';
  const value = spec.type === 'boolean' ? '' : ` ${spec.choices?.join('|') ?? spec.value ?? 'VALUE'}`;
  return `${short}--${name}${value}`;
}

const docOf = (spec: FlagSpec): string => (spec.many ? `${spec.doc} (repeatable)` : spec.doc);

/** Two columns; where the second gets too narrow it stands below the first. */
function rows(entries: readonly (readonly string[])[], width: number): string[] {
  const first = Math.max(0, ...entries.map(([name = '']) => widthOf(name)));
  const rest = width - first - 4;
  return entries.flatMap(([name = '', doc = '']) => {
    if (rest < 24) return [`  ${name}`, ...wrap(doc, width - 6).map((line) => `      ${line}`)];
    const [head = '', ...more] = wrap(doc, rest);
    return [`  ${padWidth(name, first)}  ${head}`.trimEnd(), ...more.map((line) => ' '.repeat(first + 4) + line)];
  });
}

/** A command line: further lines are indented more. */
function hanging(text: string, width: number): string[] {
  const [head = '', ...more] = wrap(text, width - 6);
  return [`  ${head}`, ...more.map((line) => `      ${line}`)];
}
