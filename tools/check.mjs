/**
 * The frame of every static check. A check is a function from a root folder to what it found; this file turns it into a
 * command: one line when all checks pass, one line per violation and exit status 1 otherwise. A check that scanned
 * nothing has proved nothing, so it fails too.
 */
import { realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the project these tools belong to. */
export const projectRoot = dirname(dirname(fileURLToPath(import.meta.url)));

/** One violation; `line` is 1-based, 0 when the whole file is meant (printed as its first line). */
export function problem(file, line, message) {
  return { file, line, message: message.startsWith('Cannot ') ? message : `Cannot ${message}` };
}

/** Adds the violation "nothing scanned" to a result that looked at nothing. */
export function judge(name, result) {
  if (result.scanned > 0) return result;
  const nothing = problem(
    '.',
    0,
    `check ${name}: nothing was found to scan, expected at least one ${result.unit}`,
  );
  return { ...result, problems: [...result.problems, nothing] };
}

/** Prints a violation in the form editors and CI logs can jump to. */
export function format({ file, line, message }) {
  return `${file}:${line || 1}: ${message}`;
}

/** Runs `check` when `url` is the script Node was started with; a file that is only imported does nothing. */
export async function runAsCommand(url, name, check) {
  if (!process.argv[1] || realpathSync(process.argv[1]) !== fileURLToPath(url)) return;
  const result = await attempt(name, check);
  if (!result) return;
  const { problems, scanned, unit, note } = result;
  for (const each of problems) console.error(format(each));
  if (problems.length > 0) {
    console.error(`${name}: ${problems.length} violation${problems.length === 1 ? '' : 's'}`);
    process.exitCode = 1;
    return;
  }
  console.log(`${name}: ${scanned} ${unit}s${note ? `, ${note}` : ''}`);
}

async function attempt(name, check) {
  try {
    const options = readOptions(name, process.argv.slice(2));
    return judge(name, await check(options.root, options));
  } catch (error) {
    console.error(
      error.message.startsWith('Cannot ') ? error.message : `Cannot run ${name}: ${error.message}`,
    );
    process.exitCode = 1;
    return undefined;
  }
}

function readOptions(name, words) {
  const options = { root: projectRoot, write: false };
  for (let at = 0; at < words.length; at += 1) {
    if (words[at] === '--write') options.write = true;
    else if (words[at] === '--root' && words[at + 1]) options.root = resolve(words[++at]);
    else throw new Error(`Cannot run ${name}: unknown word "${words[at]}", expected --root DIR or --write`);
  }
  return options;
}
