import { decodeEntities } from './html-entities.ts';

/** Elements whose content is no text for a reader. */
const SILENT = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'iframe',
  'object',
  'canvas',
  'head',
  'select',
]);
const BLOCKS = new Set(
  'address article aside blockquote body dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table tbody tfoot thead tr ul'.split(
    ' ',
  ),
);

const MAX_NESTING = 100;

export interface PageText {
  title: string;
  text: string;
}

/**
 * The readable text of a page, in one pass over it: headings, lists, links and preformatted parts
 * in markdown; scripts, styles and comments left out. Links are made absolute from `base`.
 */
export function htmlToText(html: string, base: string): PageText {
  const page = new PageWriter(base);
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    if (open < 0) {
      page.text(html.slice(at));
      break;
    }
    if (open > at) page.text(html.slice(at, open));
    const end = endOfMarkup(html, open);
    if (end === undefined) {
      page.text('<');
      at = open + 1;
      continue;
    }
    const markup = html.slice(open, end);
    at = end;
    const tag = /^<(\/?)([a-z][a-z0-9-]*)/i.exec(markup);
    if (!tag) continue;
    const name = (tag[2] ?? '').toLowerCase();
    if (tag[1] === '/') page.close(name);
    else if (name === 'title') at = page.title(html, end);
    else if (name === 'script' || name === 'style') at = afterRawText(html, end, name);
    else page.open(name, markup);
  }
  return page.result();
}

/** Where the markup that begins at `open` ends; `undefined` for a sign that begins none. */
function endOfMarkup(html: string, open: number): number | undefined {
  if (html.startsWith('<!--', open)) {
    const end = html.indexOf('-->', open + 2);
    return end < 0 ? html.length : end + 3;
  }
  if (!/[a-z/!?]/i.test(html[open + 1] ?? '')) return undefined;
  let quote = '';
  for (let at = open + 1; at < html.length; at++) {
    const sign = html[at];
    if (quote !== '') {
      if (sign === quote) quote = '';
    } else if ((sign === '"' || sign === "'") && html[at - 1] === '=') {
      quote = sign;
    } else if (sign === '>') {
      return at + 1;
    }
  }
  return html.length;
}

function afterRawText(html: string, from: number, name: string): number {
  const close = new RegExp(`</${name}`, 'gi');
  close.lastIndex = from;
  return close.exec(html)?.index ?? html.length;
}

class PageWriter {
  readonly #base: string;
  readonly #pieces: string[] = [];
  #title = '';
  #silent: string[] = [];
  #preformatted = 0;
  #link: { at: number; href: string } | undefined;
  /** What stands at the end: the start of a block, the sign of a list item or heading, text, or text and a blank. */
  #tail: 'block' | 'marker' | 'text' | 'blank' = 'block';

  constructor(base: string) {
    this.#base = base;
  }

  text(raw: string): void {
    if (this.#silent.length > 0) return;
    const text = decodeEntities(raw);
    if (this.#preformatted > 0) {
      this.#pieces.push(text);
      this.#tail = 'text';
      return;
    }
    const folded = text.replace(/\s+/g, ' ');
    const fitting = this.#tail === 'text' ? folded : folded.trimStart();
    if (fitting === '') return;
    this.#pieces.push(fitting);
    this.#tail = fitting.endsWith(' ') ? 'blank' : 'text';
  }

  title(html: string, from: number): number {
    const end = afterRawText(html, from, 'title');
    if (this.#title === '') this.#title = decodeEntities(html.slice(from, end)).replace(/\s+/g, ' ').trim();
    return end;
  }

  open(name: string, markup: string): void {
    // A page that never closes its head would otherwise be silent to the end.
    if (name === 'body') this.#silent = [];
    if (SILENT.has(name) && !markup.endsWith('/>') && this.#silent.length < MAX_NESTING) this.#silent.push(name);
    if (this.#silent.length > 0) return;
    if (BLOCKS.has(name)) this.#block(gapAt(name));
    if (/^h[1-6]$/.test(name)) this.#marker(`${'#'.repeat(Number(name[1]))} `);
    else if (name === 'li') this.#marker('- ');
    else if (name === 'br') this.#block('\n');
    else if (name === 'td' || name === 'th') this.#cell();
    else if (name === 'pre') this.#openPre();
    else if (name === 'img') this.#image(markup);
    else if (name === 'a') this.#openLink(markup);
  }

  close(name: string): void {
    const last = this.#silent.lastIndexOf(name);
    if (last >= 0) this.#silent.length = last;
    else if (this.#silent.length > 0) return;
    else if (name === 'a') this.#closeLink();
    else if (name === 'pre' && this.#preformatted > 0) this.#closePre();
    else if (BLOCKS.has(name)) this.#block(gapAt(name));
  }

  result(): PageText {
    const lines = this.#pieces.join('').split('\n');
    const text = lines
      .map((line) => line.trimEnd())
      .join('\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim();
    return { title: this.#title, text };
  }

  #block(gap: string): void {
    if (this.#tail === 'marker' || (this.#preformatted > 0 && gap !== '\n')) return;
    if (gap === '\n' && this.#tail === 'block' && this.#preformatted === 0) return;
    this.#pieces.push(gap);
    this.#tail = 'block';
  }

  #marker(sign: string): void {
    this.#pieces.push(sign);
    this.#tail = 'marker';
  }

  #cell(): void {
    if (this.#tail !== 'block') this.#pieces.push(' | ');
    this.#tail = 'blank';
  }

  #openPre(): void {
    this.#preformatted++;
    this.#pieces.push('```\n');
  }

  #closePre(): void {
    this.#preformatted--;
    this.#pieces.push('\n```\n\n');
    this.#tail = 'block';
  }

  #image(markup: string): void {
    const alt = attribute(markup, 'alt');
    if (alt) this.text(`[${alt}]`);
  }

  #openLink(markup: string): void {
    const href = attribute(markup, 'href');
    this.#link = href ? { at: this.#pieces.length, href } : undefined;
  }

  #closeLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (!link || /^(?:#|javascript:|data:|mailto:)/i.test(link.href) || !URL.canParse(link.href, this.#base)) return;
    const label = this.#pieces.splice(link.at).join('');
    const bare = label.trim();
    if (bare === '') {
      this.#pieces.push(label);
      return;
    }
    const lead = label.slice(0, label.indexOf(bare));
    this.#pieces.push(`${lead}[${bare}](${new URL(link.href, this.#base).href})${label.endsWith(' ') ? ' ' : ''}`);
  }
}

/** Items and rows stand on lines of their own, other blocks are paragraphs. */
const gapAt = (name: string): string => (/^(?:li|tr|dt|dd)$/.test(name) ? '\n' : '\n\n');

function attribute(markup: string, name: string): string | undefined {
  const match = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(markup);
  const value = match?.[1] ?? match?.[2] ?? match?.[3];
  return value === undefined ? undefined : decodeEntities(value).trim();
}
