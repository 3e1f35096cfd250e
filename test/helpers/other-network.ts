import { execFileSync } from 'node:child_process';
import { connect, createServer, type Server } from 'node:net';

/** A network namespace: a machine of its own as far as the network goes. It reaches this one by `host` alone. */
export interface OtherNetwork {
  /** This machine's address there. */
  readonly host: string;
  /** What goes before a program that is to run there. */
  readonly prefix: readonly string[];
  /** Lets programs there reach a local address of this machine. The URL says where. */
  reach(url: string): Promise<string>;
  remove(): Promise<void>;
}

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: 'pipe' });

/** A namespace, or why there can be none: that takes root, `ip`, and a kernel that allows it. */
export function otherNetwork(): OtherNetwork | string {
  const id = process.pid % 60_000;
  const name = `reasonix-${id}`;
  const [near, far] = [`rx${id}a`, `rx${id}b`];
  const net = `10.213.${id % 250}`;
  const host = `${net}.1`;
  try {
    ip('netns', 'add', name);
  } catch (error) {
    return `no network namespace can be made here: ${error instanceof Error ? error.message.split('\n')[0] : error}`;
  }
  try {
    ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far);
    ip('link', 'set', far, 'netns', name);
    ip('addr', 'add', `${host}/30`, 'dev', near);
    ip('link', 'set', near, 'up');
    ip('-n', name, 'addr', 'add', `${net}.2/30`, 'dev', far);
    ip('-n', name, 'link', 'set', far, 'up');
    ip('-n', name, 'link', 'set', 'lo', 'up');
  } catch (error) {
    ip('netns', 'delete', name);
    return `two networks cannot be joined here: ${error instanceof Error ? error.message.split('\n')[0] : error}`;
  }
  const doors: Server[] = [];
  return {
    host,
    prefix: ['ip', 'netns', 'exec', name],
    async reach(url) {
      const { hostname, port } = new URL(url);
      const door = createServer((socket) => {
        const inner = connect(Number(port), hostname);
        socket.pipe(inner).pipe(socket);
        for (const end of [socket, inner])
          end.on('error', () => [socket, inner].forEach((each) => void each.destroy()));
      });
      doors.push(door);
      await new Promise<void>((resolve) => door.listen(0, host, resolve));
      const address = door.address();
      const target = new URL(url);
      target.hostname = host;
      target.port = String(typeof address === 'object' ? address?.port : '');
      return target.href;
    },
    async remove() {
      for (const door of doors) door.close();
      ip('netns', 'delete', name);
    },
  };
}
