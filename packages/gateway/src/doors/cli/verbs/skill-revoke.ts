import { change } from '../skill/operate/change.ts';
import type { VerbRun } from '../verb.ts';

export const run: VerbRun = (invocation) =>
  change(invocation, {
    event: 'revoke',
    style: 'red',
    done: 'revoked',
    warning:
      'These very bytes never run again, and calls that are running are ended. It cannot be taken back.',
    next: null,
  });
