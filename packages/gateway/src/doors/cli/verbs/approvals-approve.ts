import { answer } from '../answer.ts';
import type { VerbRun } from '../verb.ts';

export const run: VerbRun = (invocation) => answer(invocation, 'approved');
