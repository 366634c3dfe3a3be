import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { CodedError } from '../../../../core/coded-error.ts';
import { inert } from '../../../../core/hostile-text.ts';
import type { Invocation } from '../../verb.ts';

export type Questions = {
  /** Asks a person; anything but a clear yes is a no. */
  readonly ask: (question: string) => Promise<boolean>;
  readonly close: () => void;
};

/** One conversation at the terminal; what is typed ahead counts for the questions to come. */
export function openQuestions({ edge, signal }: Invocation): Questions {
  const lines = createInterface({ input: edge.stdin as Readable, terminal: false, signal });
  const answers = lines[Symbol.asyncIterator]();
  return {
    ask: async (question) => {
      edge.stderr.write(`${inert(question)} [y/N] `);
      const { value, done } = await answers.next().catch(() => ({ value: undefined, done: true }));
      if (signal.aborted) throw new CodedError('tier/cancelled', 'Cannot read the answer: it was cancelled');
      if (done === true) edge.stderr.write('\n');
      return typeof value === 'string' && /^y(es)?$/i.test(value.trim());
    },
    close: () => lines.close(),
  };
}
