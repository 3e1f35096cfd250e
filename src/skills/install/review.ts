import { clipGraphemes } from '../../core/text.ts';
import { decode } from '../decode.ts';
import { commentFindings } from '../lint/body-findings.ts';
import { hiddenFindings } from '../lint/hidden-findings.ts';
import { readMarkdown } from '../lint/markdown.ts';
import { lineFinder } from '../lint/problem.ts';
import { secretFindings } from '../lint/secrets.ts';
import { textOf } from '../text-file.ts';
import type { Diagnostic } from '../types.ts';

/** A file of a skill that is to be written. */
export interface NewFile {
  /** From the skill's folder, with `/`. */
  path: string;
  bytes: Uint8Array;
  executable: boolean;
}

export interface Warning {
  path: string;
  line?: number | undefined;
  severity: Diagnostic['severity'];
  code: string;
  message: string;
}

const SHOWN_A_FILE = 20;
const SCRIPT = /\.(?:sh|bash|zsh|fish|ps1|bat|cmd|py|rb|pl|php|lua|[cm]?[jt]s|exe|dll|so|dylib|jar|app|command)$/i;

/** Files that can be run: by their mode, their first line or their name. */
export function scriptsOf(files: readonly NewFile[]): string[] {
  return files
    .filter(({ path, bytes, executable }) => executable || isShebang(bytes) || SCRIPT.test(path))
    .map(({ path }) => path);
}

const isShebang = (bytes: Uint8Array): boolean => bytes[0] === 0x23 && bytes[1] === 0x21;

/** What a reader of the files would not see: invisible and steering signs with what they spell, comments, secrets. */
export function warningsOf(files: readonly NewFile[]): Warning[] {
  return files.flatMap(({ path, bytes }) => {
    const isMarkdown = /\.md$/i.test(path);
    // as the parser will read it: in UTF-16 it would pass for a picture
    const text = isMarkdown ? decode(bytes).text : textOf(bytes);
    if (text === undefined) return [];
    const lineOf = lineFinder(text);
    const comments = isMarkdown ? commentFindings(readMarkdown(text), lineOf) : [];
    const findings = [...hiddenFindings(text, lineOf), ...comments, ...secretFindings(text, lineOf)];
    return findings.slice(0, SHOWN_A_FILE).map((finding) => ({
      path,
      ...finding,
      message: clipGraphemes(finding.message, 400),
    }));
  });
}
