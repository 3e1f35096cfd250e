import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { decode } from '../decode.ts';
import { skillFiles } from '../resources.ts';
import { textOf } from '../text-file.ts';
import type { Skill } from '../types.ts';
import { hiddenFindings } from './hidden-findings.ts';
import { type Finding, lineFinder } from './problem.ts';
import { secretFindings } from './secrets.ts';

const MOST_FILES = 400;
/** Bytes of one skill's files that are read. */
const MOST_BYTES = 16 * 1024 * 1024;
const LARGEST_FILE = 1_000_000;
const SHOWN_A_FILE = 20;

export interface FileFindings {
  file: string;
  findings: Finding[];
}

/**
 * Secrets and text that nobody sees in the references, scripts and other files of a skill's folder,
 * hidden ones too: models read and run them. Pictures, fonts and the like are passed over.
 */
export async function bundledFindings(skill: Pick<Skill, 'layout' | 'folder'>): Promise<FileFindings[]> {
  const { files, more, bounded } = await skillFiles(skill, { most: MOST_FILES, hidden: true });
  const found: FileFindings[] = [];
  let unread = more;
  let bytes = 0;
  for (const path of files) {
    const file = join(skill.folder, path);
    const size = await stat(file).then(
      (state) => state.size,
      () => 0,
    );
    if (size === 0) continue;
    if (size > LARGEST_FILE || bytes + size > MOST_BYTES) {
      unread++;
      continue;
    }
    bytes += size;
    const content = await readFile(file).catch(() => undefined);
    const findings = content === undefined ? [] : findingsIn(path, content);
    if (findings.length > 0) found.push({ file, findings: findings.slice(0, SHOWN_A_FILE) });
  }
  if (unread > 0 || bounded) found.push({ file: skill.folder, findings: [notAll(unread)] });
  return found;
}

function findingsIn(path: string, content: Buffer): Finding[] {
  const text = /\.md$/i.test(path) ? decode(content).text : textOf(content);
  if (text === undefined) return [];
  const lineOf = lineFinder(text);
  return [...hiddenFindings(text, lineOf), ...secretFindings(text, lineOf)];
}

function notAll(unread: number): Finding {
  const count = unread === 0 ? 'some files' : unread === 1 ? 'a file' : `${unread} files`;
  const message = `${count} in the skill's folder not searched for secrets and hidden text: too large, too deep or too many`;
  return { severity: 'info', code: 'files-unread', message };
}
