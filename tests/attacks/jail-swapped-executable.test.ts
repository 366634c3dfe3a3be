import { testSwaps } from '../fixtures/commands/swapped-executable.ts';

/* The same as in process-swapped-executable.test.ts, from outside of a jail that can stand ready before the program is. */
testSwaps('c', ['c']);
