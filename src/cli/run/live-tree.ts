import { columnsOf, paintFor } from '../terminal.ts';
import type { ActivityTree } from './activity.ts';
import { finalLines, type TreeLook, treeLines } from './tree-lines.ts';

/** Milliseconds between two pictures. */
const INTERVAL = 120;

/** The tree of a run on a terminal, drawn over itself until it is taken away. */
export class LiveTree {
  readonly #tree: ActivityTree;
  readonly #stream: NodeJS.WriteStream;
  readonly #top: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #drawn = 0;

  /** `top` is what the root is called. */
  constructor(tree: ActivityTree, stream: NodeJS.WriteStream, top?: string) {
    this.#tree = tree;
    this.#stream = stream;
    this.#top = top;
  }

  start(): void {
    if (this.#timer) return;
    this.#timer = setInterval(() => this.#draw(), INTERVAL);
    this.#timer.unref();
  }

  /** Takes the tree away, so that something else can be written. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#erase();
  }

  /** Writes lines that stay, above the tree. */
  above(text: string): void {
    this.#erase();
    this.#stream.write(`${text}\n`);
    if (this.#timer) this.#draw();
  }

  /** Takes the tree away and leaves what became of the sub-agents. */
  finish(): void {
    this.stop();
    for (const line of finalLines(this.#tree.root, this.#look())) this.#stream.write(`${line}\n`);
  }

  #look(): TreeLook {
    const rows = Math.max(1, (this.#stream.rows || 24) - 2);
    return { columns: columnsOf(this.#stream), rows, paint: paintFor(this.#stream), now: Date.now(), top: this.#top };
  }

  #draw(): void {
    const lines = treeLines(this.#tree.root, this.#look());
    const back = this.#drawn > 0 ? `\u001b[${this.#drawn}A\r` : '';
    this.#stream.write(`${back}${lines.map((line) => `${line}\u001b[K\n`).join('')}\u001b[J`);
    this.#drawn = lines.length;
  }

  #erase(): void {
    if (this.#drawn > 0) this.#stream.write(`\u001b[${this.#drawn}A\r\u001b[J`);
    this.#drawn = 0;
  }
}
