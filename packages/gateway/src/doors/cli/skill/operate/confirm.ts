import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { CodedError } from '../../../../core/coded-error.ts';
import { inert } from '../../../../core/hostile-text.ts';
import { isAtTerminal } from '../../ask-hidden.ts';
import { textOf } from '../../input.ts';
import type { Invocation } from '../../verb.ts';

export type Question = {
  /** As in `Cannot approve the skill`. */
  readonly act: string;
  /** What is asked, as in `Type the id of the skill to approve it`. */
  readonly question: string;
  /** The one answer that means yes. */
  readonly answer: string;
  /** Flags that stand for the answer where nobody can be asked. */
  readonly needs: readonly ('yes' | 'reason' | 'accept-findings')[];
};

/** Boundary: nobody answers for what they cannot see: what is asked about goes to a terminal, and is no document. */
export function canAsk(invocation: Invocation): boolean {
  const { edge, print } = invocation;
  return isAtTerminal(invocation) && edge.stdout.isTTY === true && !print.json;
}

/** Boundary: nothing goes on without the very answer of a person, or the flags of a script that stand for it. */
export async function confirm(invocation: Invocation, asked: Question): Promise<void> {
  if (invocation.flags.yes === true || !canAsk(invocation)) return requireFlags(invocation, asked);
  const given = await askLine(invocation, asked.question);
  if (given.trim() === asked.answer) return;
  throw new CodedError(
    'door/wrong-usage',
    `Cannot ${asked.act}: "${given.trim()}" was typed, expected "${asked.answer}"`,
    { remedy: 'Nothing was changed; run the command again to be asked again.' },
  );
}

/** Refuses a command line that cannot lead anywhere, before anything is opened. */
export function requireAnswerable(invocation: Invocation, asked: Question): void {
  if (invocation.flags.yes === true || !canAsk(invocation)) requireFlags(invocation, asked);
}

function requireFlags(invocation: Invocation, { act, needs }: Question): void {
  const missing = needs.filter((name) =>
    name === 'reason' ? !textOf(invocation, 'reason')?.trim() : invocation.flags[name] !== true,
  );
  if (missing.length === 0) return;
  const spelled = missing.map((name) => (name === 'reason' ? '--reason TEXT' : `--${name}`)).join(' and ');
  const why = invocation.flags.yes === true ? 'nobody is asked' : 'there is nobody to ask';
  throw new CodedError('door/wrong-usage', `Cannot ${act}: ${why}, expected ${spelled}`, {
    remedy: `Run it at a terminal to be asked, or add ${spelled}.`,
  });
}

async function askLine({ edge, signal }: Invocation, question: string): Promise<string> {
  const lines = createInterface({ input: edge.stdin as Readable, terminal: false, signal });
  edge.stderr.write(`${inert(question)}: `);
  try {
    return await new Promise<string>((resolve, reject) => {
      const leave = () => {
        edge.stderr.write('\n');
        reject(new CodedError('tier/cancelled', 'Cannot read the answer: it was cancelled'));
      };
      lines.once('line', resolve);
      lines.once('close', leave);
    });
  } finally {
    lines.removeAllListeners();
    lines.close();
  }
}
