import { testSwaps } from '../fixtures/commands/swapped-executable.ts';

/*
 * Somebody who can write to the workspace puts another program in the place of one that is judged, again and again: the
 * digest that a policy permitted and that a receipt names must be that of the program that ran, or nothing runs.
 */
testSwaps('b', ['b', 'b-landlock']);
