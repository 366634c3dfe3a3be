import { change } from '../skill/operate/change.ts';
import type { VerbRun } from '../verb.ts';

export const run: VerbRun = (invocation) =>
  change(invocation, {
    event: 'disable',
    style: 'yellow',
    done: 'disabled',
    warning: null,
    next: (skill) => `palisade skill enable ${skill} switches it on again`,
  });
