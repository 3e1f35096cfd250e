/** A text value that is no valid YAML, as its author most likely meant it. The first line is what follows the colon. */
export function recoverText(lines: string[]): string {
  const block = /^[|>][-+0-9]{0,2}(?=[ \t]|$)/.exec(lines[0]!.trim())?.[0];
  if (block !== undefined) return blockText(block, lines);
  const text = foldLines(lines);
  const quote = text[0];
  return quote === '"' || quote === "'" ? quotedText(text, quote) : text;
}

/** Lines of one value made one text as YAML folds them: a blank between lines, a line end for each empty line. */
export function foldLines(lines: string[]): string {
  let text = '';
  let blankLines = 0;
  for (const line of lines) {
    const part = line.trim();
    if (part === '') {
      blankLines++;
      continue;
    }
    if (text !== '') text += blankLines > 0 ? '\n'.repeat(blankLines) : ' ';
    text += part;
    blankLines = 0;
  }
  return text;
}

/** Words on the sign's own line come first; what follows `#` there is a comment. */
function blockText(sign: string, lines: string[]): string {
  const after = lines[0]!.trim().slice(sign.length).trim();
  const words = after.startsWith('#') ? '' : after;
  const below = lines.slice(1);
  const indents = below.filter((line) => line.trim() !== '').map((line) => line.length - line.trimStart().length);
  const indent = Math.min(...indents);
  const text =
    sign[0] === '|'
      ? below
          .map((line) => line.slice(indent))
          .join('\n')
          .trim()
      : foldLines(below);
  return [words, text].filter((part) => part !== '').join(sign[0] === '|' ? '\n' : ' ');
}

function quotedText(text: string, quote: string): string {
  if (text.length > 1 && text.endsWith(quote)) return unescaped(text.slice(1, -1), quote);
  const end = closingQuote(text, quote);
  if (end < 0) return text.slice(1);
  const value = unescaped(text.slice(1, end), quote);
  const tail = text.slice(end + 1).trim();
  return tail === '' || tail.startsWith('#') ? value : `${value} ${tail}`;
}

function closingQuote(text: string, quote: string): number {
  for (let at = 1; at < text.length; at++) {
    if (quote === '"' && text[at] === '\\') at++;
    else if (text[at] === quote) {
      if (quote === '"' || text[at + 1] !== quote) return at;
      at++;
    }
  }
  return -1;
}

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', '"': '"', '\\': '\\', '/': '/' };

function unescaped(text: string, quote: string): string {
  if (quote === "'") return text.replaceAll("''", "'");
  return text.replace(/\\([nt"\\/])/g, (_, sign: string) => ESCAPES[sign]!);
}
