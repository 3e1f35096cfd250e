import { crc32, deflateRawSync, gzipSync } from 'node:zlib';

/** An entry of an archive that a test makes, honest or not. */
export interface MadeEntry {
  name: string | Buffer;
  content?: string | Buffer;
  /** With the type: `0o100644` a file, `0o120777` a link. */
  mode?: number;
  /** What the archive says the size is. */
  declared?: number;
  /** Of a tar: `0` a file, `1` a hard link, `2` a link, `3` a device, `5` a folder, `6` a pipe. */
  type?: string;
  link?: string;
}

const bytesOf = (text: string | Buffer | undefined): Buffer =>
  typeof text === 'string' ? Buffer.from(text) : (text ?? Buffer.alloc(0));

/** Node 20.20 has `zlib.crc32`. */
export function zipOf(entries: readonly MadeEntry[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, mode = 0o100644, declared } of entries) {
    const raw = bytesOf(name);
    const plain = bytesOf(content);
    const packed = deflateRawSync(plain);
    const size = declared ?? plain.length;
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x800, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(plain), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(size, 18);
    common.writeUInt16LE(raw.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, raw, packed]);
    const central = Buffer.alloc(46);
    central.write('PK\x01\x02', 0, 'latin1');
    central.writeUInt16LE((3 << 8) | 20, 4);
    common.copy(central, 6, 0, 26);
    central.writeUInt32LE((mode << 16) >>> 0, 38);
    central.writeUInt32LE(offset, 42);
    directory.push(Buffer.concat([central, raw]));
    parts.push(local);
    offset += local.length;
  }
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 0, 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, list, end]);
}

export function tarOf(entries: readonly MadeEntry[]): Buffer {
  const blocks = entries.flatMap(({ name, content, mode = 0o644, declared, type = '0', link = '' }) => {
    const plain = bytesOf(content);
    const header = Buffer.alloc(512);
    bytesOf(name).copy(header, 0, 0, 100);
    header.write(`${(mode & 0o7777).toString(8).padStart(7, '0')}\0`, 100);
    header.write('0000000\x000000000\0', 108);
    header.write(`${(declared ?? plain.length).toString(8).padStart(11, '0')}\0`, 124);
    header.write('00000000000\0        ', 136);
    header.write(type, 156);
    header.write(link, 157);
    header.write('ustar\x0000', 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    return [header, plain, Buffer.alloc((512 - (plain.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

export const tgzOf = (entries: readonly MadeEntry[]): Buffer => gzipSync(tarOf(entries));

export const skillText = (name: string, header = '', body = 'Body.\n'): string =>
  `---\nname: ${name}\ndescription: Does ${name}. Use when ${name} is wanted.\n${header === '' ? '' : `${header}\n`}---\n${body}`;
