/** Splits at commas, and at blanks when asked, but never inside parentheses. Quotes around an item go. */
export function splitList(text: string, separators: 'commas' | 'commas-and-blanks'): string[] {
  const separator = separators === 'commas' ? /[,\n]/ : /[,\s]/;
  const items: string[] = [];
  let item = '';
  let depth = 0;
  for (const sign of text) {
    if (sign === '(') depth++;
    else if (sign === ')') depth = Math.max(0, depth - 1);
    if (depth === 0 && separator.test(sign)) {
      items.push(item);
      item = '';
    } else item += sign;
  }
  items.push(item);
  return items.map(unquoted).filter((each) => each !== '');
}

/** Without the brackets of a list around it. */
export const withoutBrackets = (text: string): string => text.trim().replace(/^\[/, '').replace(/\]$/, '');

export function unquoted(text: string): string {
  const trimmed = text.trim();
  const inner = /^"(.*)"$/s.exec(trimmed)?.[1] ?? /^'(.*)'$/s.exec(trimmed)?.[1];
  return inner ?? trimmed;
}
