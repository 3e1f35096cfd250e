import { shellTool } from '../../src/tools/shell.ts';
import { Workspace } from '../../src/tools/workspace.ts';

/** Runs a command by the shell tool and leaves in the middle of it when a line comes in. */
const [cwd = '', command = ''] = process.argv.slice(2);
const context = {
  session: 's_test',
  call: 'call_test',
  cwd,
  signal: new AbortController().signal,
  recovering: false,
  progress: () => {},
};
process.stdin.once('data', () => process.exit(0));
await shellTool(new Workspace({ cwd })).execute({ command }, context);
