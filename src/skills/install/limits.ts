const MIB = 1024 * 1024;

/** Of what is installed from one source, and of what an archive may hold. Sizes in bytes, times in milliseconds. */
export const LIMITS = {
  totalBytes: 50 * MIB,
  fileBytes: 10 * MIB,
  files: 2_000,
  /** Unpacked size over packed size, where it is more than a small file. */
  ratio: 250,
  /** Of a source as it is fetched: a repository may hold much besides its skills. */
  fetchedBytes: 300 * MIB,
  fetchTime: 180_000,
  /** Entries of a folder or repository that are looked at. */
  entries: 100_000,
} as const;

/** `850 bytes`, `12.5 kB`, `3.4 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  const [value, unit] = bytes < 1_000_000 ? [bytes / 1_000, 'kB'] : [bytes / 1_000_000, 'MB'];
  return `${value.toFixed(1).replace(/\.0$/, '')} ${unit}`;
}
