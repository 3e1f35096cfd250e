let sha256: ((data: Uint8Array | string) => string) | undefined;

/** Enough of a SHA-256 to tell files apart. */
export const CONTENT_DIGITS = 32;

export const contentHashOf = async (data: Uint8Array | string): Promise<string> =>
  (await hashOf(data)).slice(0, CONTENT_DIGITS);

/** SHA-256 of bytes or of a text's UTF-8, hex. The library behind it loads at the first use. */
export async function hashOf(data: Uint8Array | string): Promise<string> {
  if (sha256 === undefined) {
    const { createHash, hash } = await import('node:crypto');
    // in one call, where Node has it (20.12)
    sha256 = hash ? (each) => hash('sha256', each, 'hex') : (each) => createHash('sha256').update(each).digest('hex');
  }
  return sha256(data);
}

/** Says which file it is and what it holds; the same in every process, whatever the clock said. */
export const stampOf = (file: string, contentHash: string): string => `${contentHash}:${file}`;

/** Equal for files that hold the same bytes. */
export const contentOf = (stamp: string): string => stamp.slice(0, CONTENT_DIGITS);

/** A short hash of many texts, in order, where nobody gains from a collision. 26 hex digits. */
export function quickHash(texts: Iterable<string>): string {
  // two passes of cyrb53 (public domain) with different seeds, fed as one stream
  const [a, b] = [new Stream(0), new Stream(0x9e3779b9)];
  for (const text of texts) {
    a.add(text);
    b.add(text);
  }
  return a.digest() + b.digest();
}

class Stream {
  #h1: number;
  #h2: number;

  constructor(seed: number) {
    this.#h1 = 0xdeadbeef ^ seed;
    this.#h2 = 0x41c6ce57 ^ seed;
  }

  add(text: string): void {
    for (let at = 0; at <= text.length; at++) {
      // past the end of each text a sign that no text holds, so that boundaries count
      const unit = at < text.length ? text.charCodeAt(at) : 0x10000;
      this.#h1 = Math.imul(this.#h1 ^ unit, 2654435761);
      this.#h2 = Math.imul(this.#h2 ^ unit, 1597334677);
    }
  }

  digest(): string {
    let [h1, h2] = [this.#h1, this.#h2];
    h1 = Math.imul(h1 ^ (h1 >>> 16), 2246822507) ^ Math.imul(h2 ^ (h2 >>> 13), 3266489909);
    h2 = Math.imul(h2 ^ (h2 >>> 16), 2246822507) ^ Math.imul(h1 ^ (h1 >>> 13), 3266489909);
    return (4294967296 * (2097151 & h2) + (h1 >>> 0)).toString(16).padStart(13, '0').slice(-13);
  }
}
