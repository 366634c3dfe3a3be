import { lstatSync } from 'node:fs';
import { resolve } from 'node:path';
import { CODES } from '@palisade/sdk';
import { decodeKey, documentOf, encodeKey, generateKey, type SigningKey } from '../../../attest/key-files.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { digestBytes } from '../../../core/digest.ts';
import { type CaseResult, runCases } from '../../../invoke/skills/run-cases.ts';
import { signPackage } from '../../../skills/package/pack.ts';
import { readPrivateFile, UnfitFile } from '../../../store/private-file.ts';
import { principalOf, textOf, wrongUsage } from '../input.ts';
import { finishUnread, withGateway } from '../opened.ts';
import { replaceFile, writePrivateFile } from '../out-file.ts';
import { type Printer, printError, shellWord } from '../printer.ts';
import { checkFolder, type FolderProblem } from '../skill/check-folder.ts';
import { folderOf } from '../skill/folder.ts';
import { openNamedPackage, packageOf, packFolder } from '../skill/package-file.ts';
import { entryRows, packageDocument, printEntries, printPackage } from '../skill/show-package.ts';
import type { Invocation } from '../verb.ts';

export async function check(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  const { manifest, problems, warnings } = await checkFolder(folderOf(invocation));
  const ok = problems.length === 0;
  const skill = manifest === null ? null : { id: manifest.id, version: manifest.version };
  print.result({ ok, skill, problems, warnings }, () => {
    for (const problem of problems) printProblem(print, problem, '');
    for (const warning of warnings) printProblem(print, warning, 'warning: ');
    if (ok && manifest !== null)
      print.note('ok', 'green', `  ${manifest.id} ${manifest.version}, ${counted(manifest.tools, 'tool')}`);
    else print.note('refused', 'red', `  ${counted(problems, 'problem')}`);
  });
  return ok ? 0 : CODES['skill/invalid-manifest'].exitStatus;
}

function printProblem(print: Printer, problem: FolderProblem, label: string): void {
  print.line(`${positionOf(problem)}: ${label}${problem.message}`);
  if (problem.hint !== null) print.block('  ', problem.hint);
}

function counted(list: readonly unknown[], noun: string): string {
  return `${list.length} ${noun}${list.length === 1 ? '' : 's'}`;
}

function positionOf({ file, line, column }: FolderProblem): string {
  return [file, ...(line === null ? [] : [line]), ...(column === null ? [] : [column])].join(':');
}

/** Runs the test cases of a package as calls of the caller; an audit runs the same ones. */
export async function test(invocation: Invocation): Promise<number> {
  const { flags, print, signal } = invocation;
  const by = principalOf(invocation);
  finishUnread(invocation);
  const { pkg } = await packageOf(invocation);
  return withGateway(invocation, async (gateway) => {
    const { tenant } = gateway.config.gateway;
    const withCapabilities = flags['with-capabilities'] === true;
    const onCase = (result: CaseResult) => printCase(print, result);
    const results = await runCases(gateway, { pkg, by, tenant, signal, withCapabilities, onCase });
    return printCases(print, pkg.manifest.id, results);
  });
}

const MARKS = {
  passed: ['green', '✓'],
  failed: ['red', '✗'],
  'not-run': ['yellow', '·'],
} as const;

function printCase(print: Printer, { case: tried, verdict, why, fuel }: CaseResult): void {
  const [style, mark] = MARKS[verdict];
  const isMeasured = verdict === 'passed' && fuel > 0;
  const used = verdict === 'not-run' ? `  not run: ${why}` : isMeasured ? `  ${fuel} fuel` : '';
  print.styled(style, mark, ` ${tried.tool}: ${tried.name}${used}`);
  if (verdict === 'failed') print.line(`    ${tried.file}: ${why}`);
}

function printCases(print: Printer, skill: string, results: readonly CaseResult[]): number {
  const count = (verdict: CaseResult['verdict']) => results.filter((each) => each.verdict === verdict).length;
  const counts = { passed: count('passed'), failed: count('failed'), notRun: count('not-run') };
  const cases = results.map(({ case: { name, file, tool }, ...rest }) => ({ name, file, tool, ...rest }));
  const details = { skill, ...counts, cases };
  if (counts.failed > 0) {
    const message = `Cannot pass: ${counts.failed} of ${results.length} test cases of ${skill} failed, expected none`;
    return printError(print, new CodedError('skill/tests-failed', message), details);
  }
  if (print.json) print.document({ status: 'ok', code: 'ok', ...details });
  print.line(
    results.length === 0
      ? 'The skill has no test cases: add some in tests/NAME.json.'
      : `${counts.passed} passed, ${counts.notRun} not run`,
  );
  return 0;
}

export async function pack(invocation: Invocation): Promise<number> {
  const { print, edge } = invocation;
  const { bytes, pkg } = packFolder(folderOf(invocation));
  const { id, version } = pkg.manifest;
  const out = textOf(invocation, 'out') ?? `${fileNameOf(id)}-${version}.skill`;
  replaceFile(resolve(edge.cwd, out), bytes);
  const { artifact } = pkg;
  const about = { file: out, skill: id, version, bytes: bytes.length, artifact, entries: entryRows(pkg) };
  return print.result(about, () => {
    print.styled('green', 'packed', `  ${id} ${version} into ${out}`);
    print.line(`  ${bytes.length} bytes, sha256 ${artifact}`);
    printEntries(print, pkg);
    print.next(`palisade skill sign ${shellWord(out)} --key FILE`);
  });
}

/** The id without its publisher: ids and versions are plain, so the name cannot point to another folder. */
function fileNameOf(id: string): string {
  return id.slice(id.indexOf('.') + 1).replaceAll('.', '-');
}

export async function sign(invocation: Invocation): Promise<number> {
  const { args, flags, edge, print } = invocation;
  const given = textOf(invocation, 'key');
  if (given === undefined) throw wrongUsage('Cannot sign: the key is missing, expected --key FILE');
  if (args[0] === '-' && flags.out === undefined)
    throw wrongUsage('Cannot sign: the package is read from standard input, expected --out FILE');
  const keyPath = resolve(edge.cwd, given);
  // A package that cannot be read is not signed, and no key is created for it.
  const { name, bytes, pkg } = await openNamedPackage(invocation, args[0] ?? '');
  const isNew = flags['new-key'] === true;
  const key = isNew ? makeKeyFile(keyPath, edge.clock.nowMs()) : readKeyFile(keyPath);
  const signed = signPackage(bytes, key);
  const out = textOf(invocation, 'out') ?? name;
  replaceFile(resolve(edge.cwd, out), signed);
  const { id, version } = pkg.manifest;
  const { keyId } = key;
  const publicKey = isNew ? publicFileOf(given) : null;
  const artifact = digestBytes(signed);
  const about = { file: out, skill: id, version, keyId, publicKey, bytes: signed.length, artifact };
  return print.result(about, () => {
    print.styled('green', 'signed', `  ${id} ${version} in ${out}`);
    print.line(`  key ${keyId}`);
    print.line(`  ${signed.length} bytes, sha256 ${artifact}`);
    if (publicKey !== null)
      print.note(`Keep ${given} private, and give ${publicKey} to those who will trust it.`);
    print.next(`palisade skill inspect ${shellWord(out)}`);
  });
}

/** Inspects a package offline: no state directory is opened, so whether its key is trusted is not checked. */
export async function inspect(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const file = await openNamedPackage(invocation, args[0] ?? '');
  return print.result(packageDocument(file), () => printPackage(print, file));
}

const MAX_KEY_BYTES = 4096;

function publicFileOf(path: string): string {
  return `${path}.pub.json`;
}

/** The key in a file that only its owner can read. */
function readKeyFile(path: string): SigningKey {
  const bytes = readBytes(path);
  if (bytes === null)
    throw wrongUsage(`Cannot read the key "${path}": no such file; create it with --new-key`);
  try {
    return decodeKey(bytes.toString('utf8'));
  } catch {
    // The message of the parser could quote the key.
    throw wrongUsage(`Cannot read the key "${path}": it is not a private key that --new-key created`);
  } finally {
    bytes.fill(0);
  }
}

/** Creates a key and its two files; replaces nothing. */
function makeKeyFile(path: string, nowMs: number): SigningKey {
  for (const file of [path, publicFileOf(path)]) {
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined) continue;
    throw wrongUsage(`Cannot create the key "${path}": "${file}" already exists, expected a new name`);
  }
  const key = generateKey(nowMs);
  writePrivateFile(path, encodeKey(key), false);
  replaceFile(publicFileOf(path), Buffer.from(`${documentOf(key, null)}\n`));
  return key;
}

function readBytes(path: string): Buffer | null {
  try {
    return readPrivateFile(path, MAX_KEY_BYTES);
  } catch (error) {
    if (!(error instanceof UnfitFile)) throw error;
    const remedy = 'Give the private key, in a file that only you can read (`chmod 600`).';
    throw wrongUsage(`Cannot read the key "${path}": ${error.message}`, remedy);
  }
}
