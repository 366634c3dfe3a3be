import { change } from '../skill/operate/change.ts';
import type { VerbRun } from '../verb.ts';

export const run: VerbRun = (invocation) =>
  change(invocation, {
    event: 'quarantine',
    style: 'yellow',
    done: 'in quarantine',
    warning: null,
    next: (skill) => `it runs again after palisade skill approve ${skill}`,
  });
