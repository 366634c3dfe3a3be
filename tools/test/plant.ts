import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

export type Tree = Readonly<Record<string, string>>;

type Problem = { readonly file: string; readonly line: number; readonly message: string };
type Check = (root: string) => Result | Promise<Result>;
type Result = { readonly problems: readonly Problem[]; readonly scanned: number; readonly unit: string };

/** Writes files into a folder that is gone when the test is over. */
export function plant(files: Tree): string {
  const root = mkdtempSync(join(tmpdir(), 'palisade-tools-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

/** Runs a check on planted files and gives its violations as `file:line message`. */
export async function violations(check: Check, files: Tree): Promise<string[]> {
  const { problems } = await check(plant(files));
  return problems.map(({ file, line, message }) => `${file}:${line} ${message}`);
}

/** Runs a tool as a person would. */
export function runTool(name: string, ...words: string[]): Promise<{ status: number; output: string }> {
  const script = join(import.meta.dirname, '..', `${name}.mjs`);
  return new Promise((done) => {
    execFile(process.execPath, [script, ...words], (error, stdout, stderr) => {
      done({
        status: typeof error?.code === 'number' ? error.code : error ? -1 : 0,
        output: stdout + stderr,
      });
    });
  });
}
