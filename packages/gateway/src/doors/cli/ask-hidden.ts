import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';
import { CodedError } from '../../core/coded-error.ts';
import type { Invocation } from './verb.ts';

/** Tells whether a person sits at standard input. */
export function isAtTerminal({ edge }: Invocation): boolean {
  return (edge.stdin as Partial<NodeJS.ReadStream>).isTTY === true;
}

/** Asks a person for one line that is shown nowhere while it is typed. */
export async function askHidden({ edge, signal }: Invocation, question: string): Promise<string> {
  // Boundary: the terminal is in raw mode and echoes nothing; what would be echoed for it goes nowhere.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({
    input: edge.stdin as Readable,
    output: nowhere,
    terminal: true,
    historySize: 0,
  });
  edge.stderr.write(`${question}: `);
  try {
    return await new Promise<string>((resolve, reject) => {
      const leave = () =>
        reject(new CodedError('tier/cancelled', 'Cannot read the answer: it was cancelled'));
      lines.once('line', resolve);
      // Ctrl-C and Ctrl-D end the question, and a raw terminal makes no signal of them.
      lines.once('SIGINT', leave);
      lines.once('close', leave);
      signal.addEventListener('abort', leave, { once: true });
    });
  } finally {
    lines.close();
    edge.stderr.write('\n');
  }
}
