import { lstatSync } from 'node:fs';
import { resolve } from 'node:path';
import { CODES } from '@palisade/sdk';
import { decodeKey, documentOf, encodeKey, generateKey, type SigningKey } from '../../../attest/key-files.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { digestBytes } from '../../../core/digest.ts';
import { shellWord } from '../../../core/hostile-text.ts';
import { BY_FIXTURES, type CaseResult, runCases } from '../../../invoke/skills/run-cases.ts';
import { spellAsks } from '../../../skills/capabilities/kinds.ts';
import type { Manifest } from '../../../skills/manifest/manifest.ts';
import { signPackage } from '../../../skills/package/pack.ts';
import { FIXTURES_FILE, type SkillPackage } from '../../../skills/package/skill-package.ts';
import { readPrivateFile, UnfitFile } from '../../../store/private-file.ts';
import { principalOf, textOf, wrongUsage } from '../input.ts';
import { finishUnread, withGateway } from '../opened.ts';
import { replaceFile, writePrivateFile } from '../out-file.ts';
import { counted, type Printer, printError, printProblem } from '../printer.ts';
import { checkFolder } from '../skill/check-folder.ts';
import { folderOf } from '../skill/folder.ts';
import { openNamedPackage, type PackageFile, packageOf, packForOthers } from '../skill/package-file.ts';
import { printCase } from '../skill/print-build.ts';
import type { Invocation } from '../verb.ts';

export async function check(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  const { manifest, problems, warnings } = await checkFolder(folderOf(invocation));
  const ok = problems.length === 0;
  const skill = manifest === null ? null : { id: manifest.id, version: manifest.version };
  print.result({ ok, skill, problems, warnings }, () => {
    for (const problem of problems) printProblem(print, problem);
    for (const warning of warnings) printProblem(print, warning, 'warning: ');
    if (ok && manifest !== null)
      print.note(
        'ok',
        'green',
        `  ${manifest.id} ${manifest.version}, ${counted(manifest.tools.length, 'tool')}`,
      );
    else print.note('refused', 'red', `  ${counted(problems.length, 'problem')}`);
  });
  return ok ? 0 : CODES['skill/invalid-manifest'].exitStatus;
}

/** Runs the test cases of a package as calls of the caller; an audit runs the same ones. */
export async function test(invocation: Invocation): Promise<number> {
  const { flags, print, edge, signal } = invocation;
  const by = principalOf(invocation);
  finishUnread(invocation);
  const { pkg } = await packageOf(invocation);
  return withGateway(invocation, async (gateway) => {
    const { tenant } = gateway.config.gateway;
    const withCapabilities = flags['with-capabilities'] === true;
    const onCase = (result: CaseResult) => printCase(print, result);
    const results = await runCases(gateway, {
      ...{ pkg, by, tenant, signal, withCapabilities, onCase },
      withFixtures: true,
      onLog: (lines) => void edge.stderr.write(lines),
    });
    const status = printCases(print, pkg.manifest.id, results);
    const given = shellWord(invocation.args[0] ?? '.');
    for (const way of waysToRun(pkg, results, withCapabilities)) print.next(way.replace('DIR', given));
    return status;
  });
}

/** How the cases that were left out are run. */
function waysToRun(
  { entries }: SkillPackage,
  results: readonly CaseResult[],
  withCapabilities: boolean,
): readonly string[] {
  const leftOut = results.filter(({ verdict }) => verdict === 'not-run');
  const needs = leftOut.flatMap(({ case: tried }) => tried.needs);
  return [
    ...(!withCapabilities && needs.some((need) => !BY_FIXTURES.has(need))
      ? ['palisade skill test DIR --with-capabilities']
      : []),
    ...(!entries.has(FIXTURES_FILE) && needs.some((need) => BY_FIXTURES.has(need))
      ? [`Add ${FIXTURES_FILE} with the answers to their requests (docs/writing-skills.md).`]
      : []),
  ];
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
  const { bytes, pkg, stripped } = packForOthers(folderOf(invocation));
  const { id, version } = pkg.manifest;
  // Without its publisher: ids and versions are plain, so the name cannot point to another folder.
  const name = id.slice(id.indexOf('.') + 1).replaceAll('.', '-');
  const out = textOf(invocation, 'out') ?? `${name}-${version}.skill`;
  replaceFile(resolve(edge.cwd, out), bytes);
  const { artifact } = pkg;
  const about = {
    file: out,
    skill: id,
    version,
    bytes: bytes.length,
    artifact,
    entries: entryRows(pkg),
    stripped,
  };
  return print.result(about, () => {
    print.styled('green', 'packed', `  ${id} ${version} into ${out}`);
    print.line(`  ${bytes.length} bytes, sha256 ${artifact}`);
    printEntries(print, pkg);
    if (stripped.length > 0)
      print.note(
        `The lines of sources were left out of ${stripped.join(', ')}. For the bytes that others build, run \`palisade skill build\` first.`,
      );
    print.next(`palisade skill sign ${shellWord(out)} --key FILE`);
  });
}

export async function sign(invocation: Invocation): Promise<number> {
  const { args, flags, edge, print } = invocation;
  const given = textOf(invocation, 'key');
  if (given === undefined) throw wrongUsage('Cannot sign: the key is missing, expected --key FILE');
  if (args[0] === '-' && flags.out === undefined)
    throw wrongUsage('Cannot sign: the package is read from standard input, expected --out FILE');
  const path = resolve(edge.cwd, given);
  // A package that cannot be read is not signed, and no key is created for it.
  const { name, bytes, pkg } = await openNamedPackage(invocation, args[0] ?? '');
  const isNew = flags['new-key'] === true;
  const key = isNew ? makeKeyFile(path, edge.clock.nowMs()) : readKeyFile(path);
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
  const refuse = (is: string, remedy?: string) => wrongUsage(`Cannot read the key "${path}": ${is}`, remedy);
  let bytes: Buffer | null = null;
  try {
    bytes = readPrivateFile(path, MAX_KEY_BYTES);
    if (bytes !== null) return decodeKey(bytes.toString('utf8'));
  } catch (error) {
    const remedy = 'Give the private key, in a file that only you can read (`chmod 600`).';
    if (error instanceof UnfitFile) throw refuse(error.message, remedy);
    if (bytes === null) throw error;
    // The message of the parser could quote the key.
    throw refuse('it is not a private key that --new-key created');
  } finally {
    bytes?.fill(0);
  }
  throw refuse('no such file; create it with --new-key');
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

/** The files of a package with their sizes and digests. */
function entryRows({ entries, digests }: SkillPackage) {
  const sha256Of = (path: string) => digests.get(path) ?? null;
  return [...entries].map(([path, bytes]) => ({ path, bytes: bytes.length, sha256: sha256Of(path) }));
}

function printEntries(print: Printer, pkg: SkillPackage): void {
  print.table(
    ['ENTRY', 'BYTES', 'SHA256'],
    entryRows(pkg).map(({ path, bytes, sha256 }) => [path, bytes, sha256]),
  );
}

/** What a package declares, and who signed it; whether that key is trusted is not checked. */
function packageDocument({ name: file, bytes, pkg }: PackageFile) {
  const { artifact, manifest, signer } = pkg;
  const { asks, tools, build: _, ...said } = manifest;
  return {
    ...{ file, bytes: bytes.length, artifact },
    signer: signer === null ? null : { keyId: signer.keyId, createdAt: signer.createdAt },
    ...said,
    tools: tools.map((tool) => ({ ...tool, tool: `${manifest.id}.${tool.id}` })),
    asks,
    capabilities: spellAsks(manifest).map(({ spelling, sentence }) => ({ spelling, sentence })),
    entries: entryRows(pkg),
  };
}

function printPackage(print: Printer, { name, bytes, pkg }: PackageFile): void {
  const { manifest, signer, artifact } = pkg;
  const row = (key: string, value: string) => print.styled('dim', key.padEnd(12), value);
  print.styled('bold', `${manifest.id} ${manifest.version}`, `  ${manifest.name}`);
  row('about', manifest.description);
  row('publisher', manifest.publisher);
  row('license', manifest.license ?? 'not given');
  if (manifest.homepage !== null) row('homepage', manifest.homepage);
  row('file', `${name}, ${bytes.length} bytes`);
  row('sha256', artifact);
  if (signer === null) row('signed', 'no');
  else {
    row('signed', `by ${signer.keyId}, over every byte; the key was created at ${signer.createdAt}`);
    row('trusted', 'not checked: compare the key with the publisher');
  }
  print.line();
  printTools(print, manifest);
  printAsks(print, manifest);
  print.line();
  printEntries(print, pkg);
}

function printTools(print: Printer, { id, tools }: Manifest): void {
  for (const tool of tools) {
    print.styled('bold', `${id}.${tool.id}`, `  ${tool.name}: ${tool.description}`);
    const { readOnly, destructive, idempotent, openWorld } = tool.annotations;
    const says = [
      readOnly ? 'only reads' : 'changes things',
      ...(destructive ? ['may destroy'] : []),
      ...(idempotent ? ['may be repeated'] : []),
      ...(openWorld ? ['reaches outside'] : []),
    ];
    print.line(
      `  risk ${tool.risk}, export ${tool.export} of ${tool.module}; declares that it ${says.join(', ')}`,
    );
  }
}

function printAsks(print: Printer, manifest: Manifest): void {
  const asks = spellAsks(manifest);
  print.line(asks.length === 0 ? 'It requests no capability.' : 'It requests:');
  for (const { spelling, sentence, isReaching } of asks)
    print.styled(isReaching ? 'yellow' : 'dim', `  ${spelling}`, `  ${sentence}`);
  const { wallMs, fuel, memoryBytes } = manifest.quotas;
  const quotas = [
    ...(wallMs === null ? [] : [`${wallMs} ms`]),
    ...(fuel === null ? [] : [`${fuel} fuel`]),
    ...(memoryBytes === null ? [] : [`${memoryBytes} bytes of memory`]),
  ];
  if (quotas.length > 0) print.line(`A call uses at most ${quotas.join(', ')}.`);
}
