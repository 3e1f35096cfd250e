import { stripVTControlCharacters } from 'node:util';

/** Bytes kept of each end of an output. */
const KEPT = 512 * 1024;

/** The output of a command while it runs: its head and its tail, in bounded memory. */
export class ShellOutput {
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #dropped = 0;

  push(bytes: Buffer): void {
    let rest = bytes;
    if (this.#headBytes < KEPT) {
      const part = rest.subarray(0, KEPT - this.#headBytes);
      this.#head.push(part);
      this.#headBytes += part.length;
      rest = rest.subarray(part.length);
    }
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    while (this.#tailBytes - (this.#tail[0]?.length ?? 0) >= KEPT) {
      const gone = this.#tail.shift()?.length ?? 0;
      this.#tailBytes -= gone;
      this.#dropped += gone;
    }
  }

  /** As text without terminal codes; a gap says how much is missing. */
  text(): string {
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    if (this.#dropped === 0) return plain(Buffer.concat([head, tail]).toString('utf8'));
    const before = plain(new TextDecoder().decode(head, { stream: true }));
    const after = plain(tail.subarray(startOfSign(tail)).toString('utf8'));
    return `${before}\n[… ${this.#dropped} bytes of output not kept …]\n${after}`;
  }
}

/** Where the first whole sign of UTF-8 begins. */
function startOfSign(bytes: Buffer): number {
  let at = 0;
  while (at < 3 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at++;
  return at;
}

/** Without colours, and with only the last state of lines that were drawn over. */
function plain(text: string): string {
  const bare = stripVTControlCharacters(text).replaceAll('\0', '\uFFFD');
  if (!bare.includes('\r')) return bare;
  return bare
    .split('\n')
    .map((line) => {
      const end = line.endsWith('\r') ? line.length - 1 : line.length;
      const from = line.lastIndexOf('\r', end - 1);
      return end === 0 || from < 0 ? line : line.slice(from + 1);
    })
    .join('\n');
}
