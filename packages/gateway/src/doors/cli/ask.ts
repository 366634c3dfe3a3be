import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';
import { CodedError } from '../../core/coded-error.ts';
import { inert } from '../../core/hostile-text.ts';
import { textOf, wrongUsage } from './input.ts';
import type { Invocation } from './verb.ts';

/** Whether standard input is a terminal. */
export function isAtTerminal({ edge }: Invocation): boolean {
  return (edge.stdin as Partial<NodeJS.ReadStream>).isTTY === true;
}

/** Asks a person for one line, which is not shown while it is typed. */
export async function askHidden({ edge, signal }: Invocation, question: string): Promise<string> {
  // Boundary: the terminal is in raw mode and echoes nothing; what readline would echo is dropped.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const input = edge.stdin as Readable;
  const lines = createInterface({ input, output: nowhere, terminal: true, historySize: 0 });
  edge.stderr.write(`${question}: `);
  try {
    return await new Promise<string>((resolve, reject) => {
      const leave = () => reject(new CodedError('tier/cancelled', 'Cannot read the answer: cancelled'));
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

export type Question = {
  /** As in `Cannot approve the skill`. */
  readonly act: string;
  /** The prompt, as in `Type the id of the skill to approve it`. */
  readonly question: string;
  /** The one answer that means yes. */
  readonly answer: string;
  /** The flags that replace the answer where no one can be asked. */
  readonly needs: readonly ('yes' | 'reason' | 'accept-findings')[];
};

/** Boundary: no one confirms what they cannot see: the prompt needs a terminal on both sides, and no --json. */
export function canAsk(invocation: Invocation): boolean {
  const { edge, print } = invocation;
  return isAtTerminal(invocation) && edge.stdout.isTTY === true && !print.json;
}

/** Boundary: nothing continues without the exact answer of a person, or the flags that replace it in a script. */
export async function confirm(invocation: Invocation, asked: Question): Promise<void> {
  if (invocation.flags.yes === true || !canAsk(invocation)) return requireFlags(invocation, asked);
  const given = await askLine(invocation, asked.question);
  if (given.trim() === asked.answer) return;
  throw wrongUsage(
    `Cannot ${asked.act}: you typed "${given.trim()}", expected "${asked.answer}"`,
    'Nothing was changed. Run the command again to be asked again.',
  );
}

/** Refuses a command line that could never be confirmed, before anything is opened. */
export function requireAnswerable(invocation: Invocation, asked: Question): void {
  if (invocation.flags.yes === true || !canAsk(invocation)) requireFlags(invocation, asked);
}

function requireFlags(invocation: Invocation, { act, needs }: Question): void {
  const missing = needs.filter((name) =>
    name === 'reason' ? !textOf(invocation, 'reason')?.trim() : invocation.flags[name] !== true,
  );
  if (missing.length === 0) return;
  const spelled = missing.map((name) => (name === 'reason' ? '--reason TEXT' : `--${name}`)).join(' and ');
  const why = invocation.flags.yes === true ? 'it is not confirmed' : 'standard input is not a terminal';
  const remedy = `Run it in a terminal to confirm it there, or add ${spelled}.`;
  throw wrongUsage(`Cannot ${act}: ${why}, expected ${spelled}`, remedy);
}

/** One dialogue at the terminal; what is typed ahead counts for the questions to come. */
export function openQuestions({ edge, signal }: Invocation) {
  const lines = createInterface({ input: edge.stdin as Readable, terminal: false, signal });
  const answers = lines[Symbol.asyncIterator]();
  return {
    /** Anything but a clear yes is a no. */
    ask: async (question: string): Promise<boolean> => {
      edge.stderr.write(`${inert(question)} [y/N] `);
      const { value, done } = await answers.next().catch(() => ({ value: undefined, done: true }));
      if (signal.aborted) throw new CodedError('tier/cancelled', 'Cannot read the answer: it was cancelled');
      if (done === true) edge.stderr.write('\n');
      return typeof value === 'string' && /^y(es)?$/i.test(value.trim());
    },
    close: () => lines.close(),
  };
}

async function askLine({ edge, signal }: Invocation, question: string): Promise<string> {
  const lines = createInterface({ input: edge.stdin as Readable, terminal: false, signal });
  edge.stderr.write(`${inert(question)}: `);
  try {
    for await (const line of lines) return line;
  } finally {
    lines.close();
  }
  edge.stderr.write('\n');
  throw new CodedError('tier/cancelled', 'Cannot read the answer: cancelled');
}
