import { change } from '../skill/operate/change.ts';
import type { VerbRun } from '../verb.ts';

export const run: VerbRun = (invocation) =>
  change(invocation, {
    event: 'enable',
    style: 'green',
    done: 'enabled',
    warning: null,
    next: null,
  });
