import { change } from '../skill/operate/change.ts';
import type { VerbRun } from '../verb.ts';

export const run: VerbRun = (invocation) =>
  change(invocation, {
    event: 'enable',
    fits: ['approved', 'disabled'],
    among: 'latest',
    style: 'green',
    done: 'enabled',
    warning: null,
    next: null,
  });
