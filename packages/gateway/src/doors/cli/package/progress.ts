/* What a person sees while an installer runs, which may take minutes: how long it has taken, and how much was written. */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { orElse } from '../../../core/result.ts';
import type { Invocation } from '../verb.ts';

const EVERY_MS = 5_000;
const MB = 1e6;

type Progress = { readonly staging: string; readonly what: string };

/** Says what is done, and every few seconds how far it is, to standard error; nothing with --json. */
export async function withProgress<T>(
  { print, edge }: Invocation,
  { staging, what }: Progress,
  act: () => Promise<T>,
): Promise<T> {
  if (print.json) return act();
  print.note(what, 'dim');
  const startedMs = edge.clock.monotonicMs();
  const timer = setInterval(() => {
    const seconds = Math.round((edge.clock.monotonicMs() - startedMs) / 1_000);
    print.note(what, 'dim', `  ${seconds} s  ${(bytesIn(staging) / MB).toFixed(1)} MB written`);
  }, EVERY_MS);
  try {
    return await act();
  } finally {
    clearInterval(timer);
  }
}

/** All files below a directory that an installer is writing to; what vanishes meanwhile is not counted. */
function bytesIn(directory: string): number {
  const entries = orElse(() => readdirSync(directory, { recursive: true, withFileTypes: true }), []);
  return entries
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + orElse(() => lstatSync(join(parentPath, name)).size, 0), 0);
}
