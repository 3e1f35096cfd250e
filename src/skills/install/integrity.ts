/** SHA-512 in the spelling of npm and browsers: `sha512-<base64>`. */
export async function hashOfArchive(bytes: Uint8Array): Promise<string> {
  const { createHash } = await import('node:crypto');
  return `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
}
