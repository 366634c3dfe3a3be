/**
 * The launchers that were built with this gateway. A release replaces this file (`npm run release`); in a clone it is
 * null, and the launcher is the one that the set-up builds.
 */
import type { ReleasedLauncher } from './tier.ts';

export const RELEASED: readonly ReleasedLauncher[] | null = null;
