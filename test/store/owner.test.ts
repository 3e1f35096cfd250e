import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { describeOwner, mayBeAlive, parseOwner, processOwner } from '../../src/store/owner.ts';

test('names host, process and more, differently each time', () => {
  const owner = processOwner();
  expect(parseOwner(owner)).toMatchObject({ host: hostname(), pid: process.pid });
  expect(describeOwner(owner)).toBe(`process ${process.pid} on ${hostname()}`);
  expect(processOwner()).not.toBe(owner);
  expect(owner.split(':')).toHaveLength(4);
});

test('only a process of this machine that is gone counts as dead', async () => {
  const owner = processOwner();
  expect(mayBeAlive(owner)).toBe(true);
  expect(mayBeAlive('elsewhere:1:2:3')).toBe(true);
  expect(mayBeAlive('no owner of ours')).toBe(true);

  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  expect(mayBeAlive(owner.replace(`:${process.pid}:`, `:${child.pid}:`))).toBe(false);
});

test.skipIf(process.platform !== 'linux')('a recycled number, another boot and a zombie are told apart', async () => {
  const [host, pid, token = '', random] = processOwner().split(':');
  const [start, ...space] = token.split('-');
  expect(mayBeAlive([host, pid, [`1${start}`, ...space].join('-'), random].join(':'))).toBe(false);
  expect(mayBeAlive([host, pid, [start, '0000', space[1]].join('-'), random].join(':'))).toBe(true);

  // The shell becomes `sleep`, which never collects the dead child.
  const parent = spawn('sh', ['-c', 'sleep 0.01 & echo $!; exec sleep 60']);
  try {
    const [zombie = ''] = (await once(createInterface(parent.stdout), 'line')) as string[];
    const stat = () => readFileSync(`/proc/${zombie}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
    while (stat()[0] !== 'Z') await new Promise(setImmediate);
    const owner = [host, zombie, [stat()[19], ...space].join('-'), random].join(':');
    expect(mayBeAlive(owner)).toBe(false);
  } finally {
    parent.kill('SIGKILL');
  }
});
