import { change } from '../skill/operate/change.ts';
import type { VerbRun } from '../verb.ts';

export const run: VerbRun = (invocation) =>
  change(invocation, {
    event: 'remove',
    style: 'yellow',
    done: 'removed',
    warning: 'The package and its grant are forgotten; the journal keeps what was done.',
    next: null,
  });
